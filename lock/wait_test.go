package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestWaiterGetsTheLockOnRelease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := open(t, s, nil), open(t, s, nil)
	lease := acquire(t, a.Mutex("job"))
	waiter := lockLater(t, soon(t), b, "job")
	blocked(t, s, 1)
	unlock(t, lease)
	unlock(t, must(unpack(await(t, "the lock", waiter)))(t))
}

func unpack(r result) (*lock.Lease, error) { return r.Lease, r.Err }

// A holder that died leaves a key that expires. No signal comes; the waiter's own timer does it.
func TestWaiterGetsTheLockOnExpiry(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	expires := time.Now().Add(300 * time.Millisecond)
	s.Do(t, "SET", "lock:job", "dead", "PX", 300)
	lease := must(c.Mutex("job").Lock(soon(t)))(t)
	if time.Now().Before(expires.Add(-10 * time.Millisecond)) {
		t.Error("got the lock before it expired")
	}
	unlock(t, lease)
	// Without a timer it would have been the look, which comes once a second.
	if n := s.CommandCounts(t)["blpop"]; n > 2 {
		t.Errorf("%d BLPOPs: was it the look that found the lock free?", n)
	}
}

// A lock that is deleted by hand, without a signal, is found by the look.
func TestWaiterFindsALockThatWasDeleted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	s.Do(t, "SET", "lock:job", "python-like, without expiry")
	waiter := lockLater(t, soon(t), c, "job")
	blocked(t, s, 1)
	s.Do(t, "DEL", "lock:job")
	unlock(t, must(unpack(await(t, "the lock", waiter)))(t))
}

func TestWaitersOfOneProcessStandInLine(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	waits := make(chan lock.Event, 100)
	holder := open(t, s, nil)
	c := open(t, s, &lock.Options{
		Hooks: lock.Hooks{Waiting: func(e lock.Event) { waits <- e }},
	})
	lease := acquire(t, holder.Mutex("job"))
	const n = 4
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := c.Do(soon(t), "job", func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				return nil
			})
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
		redistest.Until(t, "the waiter is in line", func() bool { return locks.Waiting(t, s) == i+1 })
	}
	unlock(t, lease)
	all.Wait()
	for i, got := range order {
		if i != got {
			t.Fatalf("order %v", order)
		}
	}
	if info := await(t, "Waiting", waits); info.Name != "job" || info.Owner.Label == "" {
		t.Errorf("told %+v", info)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	holder := open(t, s, &lock.Options{Label: "the holder"})
	c := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, holder.Mutex(name))
	defer unlock(t, lease)
	why := errors.New("no patience")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, why)
	defer cancel()
	_, err := c.Mutex(name).Lock(ctx)
	var held *lock.HeldError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, why) || !errors.As(err, &held) {
		t.Fatalf("Lock: %v", err)
	}
	if held.Owner.Label != "the holder" || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Lock: %v", err)
	}
	for _, part := range []string{name, "gave up after", "no patience", "the holder"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
}

// Waiters that give up do not take signals with them.
func TestCancelledWaitersLoseNoSignal(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b, c := open(t, s, nil), open(t, s, nil), open(t, s, nil)
	for i := range 100 {
		lease := acquire(t, a.Mutex("job"))
		ctx, cancel := context.WithCancel(context.Background())
		quitter := lockLater(t, ctx, b, "job")
		stayer := lockLater(t, soon(t), c, "job")
		if i%4 == 0 {
			blocked(t, s, 2)
		}
		go cancel() // beside the release
		unlock(t, lease)
		if r := await(t, "the quitter", quitter); r.Err == nil {
			unlock(t, r.Lease)
		}
		unlock(t, must(unpack(await(t, "the stayer", stayer)))(t))
	}
}

func TestWaitingForWhatIsNoLock(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	s.Do(t, "HSET", "lock:"+name, "field", "value")
	for what, try := range map[string]func() error{
		"TryLock": func() error { _, err := c.Mutex(name).TryLock(soon(t)); return err },
		"Lock":    func() error { _, err := c.Mutex(name).Lock(soon(t)); return err },
		"Owner":   func() error { _, err := c.Owner(soon(t), name); return err },
		"Reset":   func() error { _, _, err := c.Reset(soon(t), name); return err },
	} {
		if err := try(); !errors.Is(err, lock.ErrWrongType) || errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := s.Do(t, "HLEN", "lock:"+name); n != int64(1) {
		t.Error("the foreign key was touched")
	}
}

// One bad name among many does not disturb the waiting for the others.
func TestOneBadSignalKey(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder, c := open(t, s, nil), open(t, s, nil)
	var leases []*lock.Lease
	var waiters []<-chan result
	for i := range 10 {
		name := fmt.Sprintf("job-%d", i)
		leases = append(leases, acquire(t, holder.Mutex(name)))
		waiters = append(waiters, lockLater(t, soon(t), c, name))
	}
	blocked(t, s, 1)
	bad := acquire(t, holder.Mutex("bad"))
	s.Do(t, "SADD", "lock-signal:bad", "x")
	_, err := c.Mutex("bad").Lock(soon(t))
	if !errors.Is(err, lock.ErrWrongType) {
		t.Errorf("waiting on a foreign signal key: %v", err)
	}
	unlock(t, bad)
	for i, lease := range leases {
		unlock(t, lease)
		unlock(t, must(unpack(await(t, "the lock", waiters[i])))(t))
	}
}

// 1,000 goroutines that wait for 100 names cost few connections and few commands.
func TestIdleWaitingIsCheap(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := open(t, s, &lock.Options{Label: "holder", TTL: 3 * time.Second, NoRenewal: true})
	c := open(t, s, &lock.Options{Label: "waiter"})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	leases := make([]*lock.Lease, 100)
	for i := range leases {
		name := fmt.Sprintf("job-%d", i)
		leases[i] = acquire(t, holder.MutexWith(name, &lock.MutexOptions{TTL: time.Minute}))
		for range 10 {
			all.Go(func() {
				if lease, err := c.Mutex(name).Lock(ctx); err == nil {
					_ = lease.Unlock(ctx)
				}
			})
		}
	}
	redistest.Until(t, "all wait", func() bool { return locks.Waiting(t, s) == 1000 })
	if n := s.Clients(t, "holdfast:waiter"); n > 4 {
		t.Errorf("%d connections", n)
	}
	before, began := sentBy(s.CommandCounts(t)), time.Now()
	<-time.After(3 * time.Second)
	commands := sentBy(s.CommandCounts(t)) - before
	perSecond := float64(commands) / time.Since(began).Seconds() / 2 // two wait connections
	t.Logf("%.1f commands per second and wait connection", perSecond)
	if perSecond > 3 {
		t.Errorf("%.1f commands per second and wait connection while nothing happens", perSecond)
	}
	unlock(t, leases[0]) // what the holder does is not disturbed
	cancel()
	all.Wait()
}

// sentBy counts the commands that holdfast sends, not those inside its scripts.
func sentBy(counts map[string]int) int {
	return counts["evalsha"] + counts["eval"] + counts["blpop"]
}

func TestWaitConnectionsCloseAfterUse(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder, c := open(t, s, nil), open(t, s, &lock.Options{Label: "waiter"})
	lease := acquire(t, holder.Mutex("job"))
	waiter := lockLater(t, soon(t), c, "job")
	blocked(t, s, 1)
	unlock(t, lease)
	unlock(t, must(unpack(await(t, "the lock", waiter)))(t))
	redistest.Until(t, "only the connection for calls is left", func() bool {
		return s.Clients(t, "holdfast:waiter") == 1
	})
}
