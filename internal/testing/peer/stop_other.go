//go:build !unix

package peer

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// Strikes are the signals that put a process out of action.
var Strikes = []os.Signal{os.Kill}

// Stop would freeze the process, which only unix can.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	redistest.Skip(t, "a process cannot be stopped on this system")
}

// Resume would let a frozen process go on.
func (p *Process) Resume(testing.TB) {}
