package contract

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// hang is how long the server answers nobody: longer than the two operation limits of 2 s that Unlock
// takes, and so much longer that a busy machine does not matter.
const hang = 6 * time.Second

// hangParts are what holds while the server hangs and after that. They share one time of it: it stops
// all other checks too. The first function prepares; the one that it returns runs from the beginning of
// that time, which over is the earliest end of.
var hangParts = []struct {
	name    string
	prepare func(*env) func(e *env, over time.Time)
}{
	{"a lease ends", hangEndsLease},
	{"a longer lease does not", hangEndsNotLease},
	{"an acquire is cleaned up", hangAcquire},
	{"an acquire under a given id is not", hangAcquireGiven},
	{"a release comes later", hangUnlock},
}

func hangs(e *env) {
	var parts []func(e *env, over time.Time)
	for _, part := range hangParts {
		parts = append(parts, part.prepare(e))
	}
	over := time.Now().Add(hang)
	if e.backend.Hang != nil {
		e.backend.Hang(e.T, hang)
	} else {
		e.do("CLIENT", "PAUSE", hang.Milliseconds())
	}
	var all sync.WaitGroup
	defer all.Wait()
	for i, part := range parts {
		all.Go(func() {
			e.Run(hangParts[i].name, func(t *testing.T) {
				part(&env{T: t, backend: e.backend, mark: e.mark}, over)
			})
		})
	}
}

// A lease ends in time, and its context with it, although nothing comes from the server: before
// anybody else can have the lock.
func hangEndsLease(e *env) func(*env, time.Time) {
	name := e.name("ends")
	lease := e.take(e.client(&lock.Options{TTL: short}).Mutex(name))
	ctx, cancel := lease.Context(context.Background())
	e.Cleanup(cancel)
	waiter := e.later(e.soon(), nil, name)
	return func(e *env, over time.Time) {
		await(e, "the end of the context", ctx.Done())
		now := time.Now()
		if now.After(over) {
			e.Error("the lease did not end while the server hung, for longer than its TTL")
		}
		if until := lease.Deadline(); lease.Valid() || now.Before(until) {
			e.Errorf("Valid %v, %v before its deadline", lease.Valid(), until.Sub(now))
		}
		e.is("the cause", context.Cause(ctx), lock.ErrLost)
		next := e.leased(waiter)
		if lease.Valid() || next.Fence() <= lease.Fence() {
			e.Errorf("Valid %v; token %d after %d", lease.Valid(), next.Fence(), lease.Fence())
		}
		e.is("Unlock", lease.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
		if !next.Valid() {
			e.Errorf("the next one lost it too: %v", next.Err())
		}
		e.release(next)
	}
}

// A lease that has time left when the server is back is renewed then.
func hangEndsNotLease(e *env) func(*env, time.Time) {
	renewed := make(chan time.Time, 1000)
	lease := e.take(e.client(&lock.Options{TTL: 2 * hang, Hooks: lock.Hooks{
		Renewed: func(lock.Event) { renewed <- time.Now() },
	}}).Mutex(e.name("ends not")))
	return func(e *env, over time.Time) {
		for whileHeld(e, lease, "a renewal", renewed).Before(over) {
		}
		e.release(lease)
	}
}

// tryUnknown tries for a lock so late that the server executes it after the caller gave up, and so
// early that the caller does give up before.
func (e *env) tryUnknown(m *lock.Mutex, over time.Time) error {
	e.Helper()
	<-time.After(time.Until(over.Add(-time.Second)))
	ctx, cancel := context.WithDeadline(context.Background(), over.Add(-200*time.Millisecond))
	defer cancel()
	lease, err := m.TryLock(ctx)
	if lease != nil {
		e.Fatal("TryLock: a lease of a server that hangs")
	}
	return err
}

// An acquire that is executed after its caller gave up is undone, and waiters come in.
func hangAcquire(e *env) func(*env, time.Time) {
	name := e.name("late")
	c := e.client(&lock.Options{TTL: time.Minute})
	e.release(e.take(c.Mutex(e.name("first contact"))))
	return func(e *env, over time.Time) {
		e.is("TryLock", e.tryUnknown(c.Mutex(name), over), lock.ErrUnknown, context.DeadlineExceeded)
		redistest.Until(e, "the acquire is executed", func() bool {
			return e.number("EXISTS", "lock-fence:"+name) == 1
		})
		e.release(e.locked(e.client(nil), name))
		_ = c.Close() // it has done all cleaning up by then
		e.free(name)
	}
}

// Nobody knows whose an acquire under a given id is, so it is left alone.
func hangAcquireGiven(e *env) func(*env, time.Time) {
	name := e.name("given")
	c := e.client(nil)
	e.release(e.take(c.Mutex(e.name("first contact too"))))
	return func(e *env, over time.Time) {
		m := c.MutexWith(name, &lock.MutexOptions{ID: "order 17", TTL: time.Minute})
		e.is("TryLock", e.tryUnknown(m, over), lock.ErrUnknown, context.DeadlineExceeded)
		redistest.Until(e, "the acquire is executed", func() bool {
			return e.number("EXISTS", "lock:"+name) == 1
		})
		_ = c.Close() // whatever it wants to clean up is cleaned up then
		if left := e.number("PTTL", "lock:"+name); left <= 0 || left > time.Minute.Milliseconds() {
			e.Errorf("the key has %d ms left, want it to be left to expire", left)
		}
		e.do("DEL", "lock:"+name)
	}
}

// Unlock says that it does not know, and the lock is released all the same.
func hangUnlock(e *env) func(*env, time.Time) {
	name := e.name("unlock")
	lease := e.take(e.client(&lock.Options{TTL: time.Minute}).Mutex(name))
	waiter := e.later(e.soon(), nil, name)
	return func(e *env, _ time.Time) {
		for range 2 {
			e.is("Unlock", lease.Unlock(e.soon()), lock.ErrUnknown)
		}
		if lease.Valid() {
			e.Error("valid after Unlock")
		}
		e.release(e.leased(waiter))
	}
}
