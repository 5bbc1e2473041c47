package locks

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// An Opener opens clients of one server, which are closed with the test.
type Opener func(o *lock.Options) *lock.Client

// OnBoth runs a test on a real server and on the embedded one, side by side. The real one is what
// server returns, such as redistest.Shared.
func OnBoth(
	t *testing.T, server func(testing.TB) *redistest.Server, test func(t *testing.T, open Opener),
) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		url := server(t).URL()
		test(t, func(o *lock.Options) *lock.Client { return Open(t, url, o) })
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := locktest.Start(t)
		test(t, func(o *lock.Options) *lock.Client { return s.Client(t, o) })
	})
}
