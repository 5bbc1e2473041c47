package lock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// An aclWait is a Lock of the user's that waits.
type aclWait struct {
	client   *lock.Client
	cancel   context.CancelFunc
	done     <-chan result
	degraded chan lock.Event
}

// waits has the user wait until Redis blocks it or refuses to.
func (a *aclCase) waits() *aclWait {
	a.Helper()
	w := &aclWait{degraded: make(chan lock.Event, 1)}
	w.client = a.client(&lock.Options{Hooks: lock.Hooks{
		Degraded: func(e lock.Event) { w.degraded <- e },
	}})
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(soon(a))
	w.done = lockLater(a, ctx, w.client, a.name)
	redistest.Until(a, "the waiter blocks, or cannot", func() bool {
		return len(w.done) > 0 || len(w.degraded) > 0 || a.server.BlockedNow(a) > 0
	})
	return w
}

// close ends the waiting.
func (w *aclWait) close() {
	w.cancel()
	_ = w.client.Close()
}

func aclWaits(a *aclCase) error {
	release := a.held()
	w := a.waits()
	defer w.close()
	if len(w.done) > 0 {
		release()
		return (<-w.done).Err
	}
	release()
	r := await(a, "Lock", w.done)
	if r.Err == nil {
		r.Err = r.Lease.Unlock(soon(a))
	}
	if r.Err == nil && len(w.degraded) > 0 {
		return fmt.Errorf("degraded: %w", (<-w.degraded).Err)
	}
	return r.Err
}

// aclShowsWaiter: the register of who waits is kept.
func aclShowsWaiter(a *aclCase) error {
	release := a.held()
	defer release()
	w := a.waits()
	defer w.close()
	shown := func() bool { return len(a.server.Keys(a, "lock-waiting:*")) > 0 }
	redistest.Until(a, "the waiter is shown, or may not be", func() bool {
		return shown() || a.refused()
	})
	if !shown() {
		return errors.New("nobody is shown to wait")
	}
	return nil
}

// aclGivesBack: a signal that is read for a waiter who has left goes back.
func aclGivesBack(a *aclCase) error {
	release := a.held()
	w := a.waits()
	defer w.close()
	w.cancel() // the blocking read, which has just begun, goes on until the next look
	if r := await(a, "Lock", w.done); !errors.Is(r.Err, context.Canceled) {
		return fmt.Errorf("Lock: %w", r.Err)
	}
	before := a.server.CommandCounts(a)["lpush"]
	release()
	given := false
	redistest.Until(a, "the signal is given back, or may not be", func() bool {
		// Pushed a second time; or, if the read ended too early, there still.
		given = a.server.CommandCounts(a)["lpush"] == before+2 ||
			a.server.Do(a, "LLEN", "lock-signal:"+a.name) == int64(1)
		return given || a.refused()
	})
	if !given {
		return errors.New("the signal is lost")
	}
	return nil
}
