//go:build !unix

package lock_test

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// faultStrikes are the signals that put a process out of action.
var faultStrikes = []os.Signal{os.Kill}

// stop would freeze the process, which only unix can.
func (p *faultProcess) stop(t testing.TB) {
	t.Helper()
	redistest.Skip(t, "a process cannot be stopped on this system")
}

func (p *faultProcess) resume(testing.TB) {}
