package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// open returns a client of the server at s that is closed with the test.
func open(t testing.TB, s *redistest.Server, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.Open(s.URL(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// soon returns a context that ends long after what it bounds should have happened, so that a test
// that fails does not hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// acquire takes a lock that must be free.
func acquire(t testing.TB, m *lock.Mutex) *lock.Lease {
	t.Helper()
	lease, err := m.TryLock(soon(t))
	if err != nil {
		t.Fatalf("TryLock %s: %v", m.Name(), err)
	}
	return lease
}

// unlock releases a lease that must be held.
func unlock(t testing.TB, lease *lock.Lease) {
	t.Helper()
	if err := lease.Unlock(soon(t)); err != nil {
		t.Errorf("Unlock %s: %v", lease.Name(), err)
	}
}

// result is what a Lock that waits came to.
type result struct {
	lease *lock.Lease
	err   error
}

// lockLater calls Lock in a goroutine and returns where its result will be, once the client waits.
func lockLater(t testing.TB, ctx context.Context, c *lock.Client, name string) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		lease, err := c.Mutex(name).Lock(ctx)
		done <- result{lease, err}
	}()
	return done
}

// await returns what comes from a channel soon.
func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("not reached")
	}
}

// blocked waits until n connections of holdfast's block on the signal of some lock.
func blocked(t testing.TB, s *redistest.Server, n int) {
	t.Helper()
	redistest.Until(t, "connections block", func() bool { return blockedClients(t, s) >= n })
}
