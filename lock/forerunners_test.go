package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// Features of the locks that holdfast follows which the contract does not show, on a real server and on
// the embedded one; docs/migrating.md lists them all.

// A place is a server of either kind.
type place struct {
	open func(*lock.Options) *lock.Client
	do   func(command string, args ...any) any // as somebody else would
}

// onBoth runs a test in both places.
func onBoth(t *testing.T, test func(t *testing.T, at place)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		test(t, place{
			open: func(o *lock.Options) *lock.Client { return open(t, s, o) },
			do:   func(command string, args ...any) any { return s.Do(t, command, args...) },
		})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := locktest.Start(t)
		p := s.Pool()
		t.Cleanup(func() { _ = p.Close() })
		test(t, place{
			open: func(o *lock.Options) *lock.Client { return s.Client(t, o) },
			do: func(command string, args ...any) any {
				t.Helper()
				conn := p.Get()
				defer conn.Close()
				reply, err := conn.Do(command, args...)
				if err != nil {
					t.Fatalf("%s: %v", command, err)
				}
				return reply
			},
		})
	})
}

// The limit of the waiting counts in total, and in fractions of a second: python-redis-lock's counts in
// whole seconds, and anew at each signal.
func TestLimitCountsInTotal(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		lease := acquire(t, at.open(nil).Mutex("job"))
		const limit = 700 * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		began := time.Now()
		waiter := lockLater(t, ctx, at.open(nil), "job")
		signals, every := int64(0), time.NewTicker(limit/20)
		defer every.Stop()
		for signals < 100 {
			select {
			case got := <-waiter:
				took := time.Since(began)
				if !errors.Is(got.Err, context.DeadlineExceeded) || !errors.Is(got.Err, lock.ErrHeld) {
					t.Errorf("Lock: %v", got.Err)
				}
				if took < limit || took > limit+time.Second {
					t.Errorf("it waited for %v, want %v", took, limit)
				}
				if left, _ := at.do("LLEN", "lock-signal:job").(int64); signals-left < 2 {
					t.Errorf("%d of %d signals were read", signals-left, signals)
				}
				unlock(t, lease)
				return
			case <-every.C:
				at.do("LPUSH", "lock-signal:job", "1") // for nothing: the lock is held
				signals++
			}
		}
		t.Errorf("it waits still, after %v", time.Since(began))
	})
}

// Again under the same id, with the full TTL, as by redis-allocator's rlock; the first lease is told.
func TestAgainUnderTheSameID(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		o := &lock.MutexOptions{ID: "worker 7", KeepID: true, TTL: time.Minute, NoRenewal: true}
		first := acquire(t, at.open(nil).MutexWith("job", o))
		at.do("PEXPIRE", "lock:job", 20_000)

		m := at.open(nil).MutexWith("job", o)
		if _, err := m.TryLock(soon(t)); !errors.Is(err, lock.ErrAlreadyHeld) {
			t.Fatalf("TryLock: %v", err)
		}
		second, err := m.Adopt(soon(t), "worker 7")
		if err != nil {
			t.Fatal(err)
		}
		if left, err := redis.Int64(at.do("PTTL", "lock:job"), nil); left <= 40_000 || err != nil {
			t.Errorf("the key has %d ms left: %v", left, err)
		}
		if second.ID() != first.ID() || second.Fence() <= first.Fence() {
			t.Errorf("adopted %q with token %d from %q with %d", second.ID(), second.Fence(), first.ID(),
				first.Fence())
		}
		if err := first.Verify(soon(t)); !errors.Is(err, lock.ErrLost) {
			t.Errorf("the first one: %v", err)
		}
		if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("Unlock of the first one: %v", err)
		}
		if err := second.Verify(soon(t)); err != nil {
			t.Errorf("the second one: %v", err)
		}
		unlock(t, second)
	})
}

// A lease is a value: whoever is handed it can release it, in any goroutine, and nobody else's is.
func TestLeaseOfAnotherGoroutine(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		c := at.open(nil)
		leases, errs := make(chan *lock.Lease), make(chan error)
		go func() { errs <- (<-leases).Unlock(soon(t)) }()
		leases <- acquire(t, c.Mutex("job"))
		if err := <-errs; err != nil {
			t.Errorf("Unlock: %v", err)
		}
		unlock(t, acquire(t, c.Mutex("job")))
	})
}
