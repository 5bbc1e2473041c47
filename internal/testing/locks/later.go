package locks

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A Result is what a Lock in the background came to, and when.
type Result struct {
	Lease *lock.Lease
	Err   error
	At    time.Time
}

// Later calls Lock in the background. The goroutine ends with the call.
func Later(ctx context.Context, m *lock.Mutex) <-chan Result {
	done := make(chan Result, 1)
	go func() {
		lease, err := m.Lock(ctx)
		done <- Result{lease, err, time.Now()}
	}()
	return done
}

// Got returns the lease that a Lock in the background gets, and when.
func Got(t testing.TB, from <-chan Result) (*lock.Lease, time.Time) {
	t.Helper()
	r := Await(t, "the lock", from)
	if r.Err != nil {
		t.Fatalf("Lock: %v", r.Err)
	}
	return r.Lease, r.At
}
