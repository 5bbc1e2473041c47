package lock_test

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// open returns a client of the server at s that is closed with the test.
func open(t testing.TB, s *redistest.Server, o *lock.Options) *lock.Client {
	t.Helper()
	return locks.Open(t, s.URL(), o)
}

// What this package's tests share with others.
var (
	soon    = locks.Soon
	acquire = locks.Acquire
	unlock  = locks.Unlock
	must    = locks.Must
	value   = locks.Value
	pttl    = locks.PTTL
)

type result = locks.Result

func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	return locks.Await(t, what, from)
}

// lockLater calls Lock in the background.
func lockLater(_ testing.TB, ctx context.Context, c *lock.Client, name string) <-chan result {
	return locks.Later(ctx, c.Mutex(name))
}

// blocked waits until n connections of holdfast's block on the signal of some lock.
func blocked(t testing.TB, s *redistest.Server, n int) {
	t.Helper()
	redistest.Until(t, "connections block", func() bool { return s.BlockedNow(t) >= n })
}

// TestFaultProcess is not a test but the process that others make of this binary.
func TestFaultProcess(t *testing.T) { peer.Serve(t) }
