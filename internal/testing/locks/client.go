package locks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Open returns a client that is closed with the test.
func Open(t testing.TB, url string, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.Open(url, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Met is [Open] for a client that has a connection for calls already, which no fault keeps it from
// making.
func Met(t testing.TB, url string, o *lock.Options) *lock.Client {
	t.Helper()
	c := Open(t, url, o)
	if _, err := c.Owner(Soon(t), "nothing"); !errors.Is(err, lock.ErrNotHeld) {
		t.Fatalf("first contact: %v", err)
	}
	return c
}

// Acquire takes a lock that must be free.
func Acquire(t testing.TB, m *lock.Mutex) *lock.Lease {
	t.Helper()
	lease, err := m.TryLock(Soon(t))
	if err != nil {
		t.Fatalf("TryLock %s: %v", m.Name(), err)
	}
	return lease
}

// Unlock releases a lease that must be held.
func Unlock(t testing.TB, lease *lock.Lease) {
	t.Helper()
	if err := lease.Unlock(Soon(t)); err != nil {
		t.Errorf("Unlock %s: %v", lease.Name(), err)
	}
}

// Must unwraps what returned a lease.
func Must(lease *lock.Lease, err error) func(t testing.TB) *lock.Lease {
	return func(t testing.TB) *lock.Lease {
		t.Helper()
		if err != nil {
			t.Fatalf("no lease: %v", err)
		}
		return lease
	}
}

// ErrOf returns the error of a call that returns something else, too.
func ErrOf[T any](_ T, err error) error { return err }

// Soon returns a context that ends long after what it bounds should have happened, so that a test
// that fails does not hang.
func Soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Await returns what comes from a channel soon.
func Await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("not reached")
	}
}
