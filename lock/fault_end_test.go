package lock_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 25: Redis needs the memory, and evicts the lock. The holder is told at its next renewal.
func TestFaultEvicted(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	s := faultServer(t, "maxmemory-policy volatile-random")
	events := newFaultEvents()
	holder := faultOpen(t, s.URL(), &lock.Options{TTL: ttl, Hooks: events.hooks()})
	lease := acquire(t, holder.Mutex("job"))
	events.renewedNow(t)
	s.Do(t, "CONFIG", "SET", "maxmemory", "1")
	redistest.Until(t, "it is evicted", func() bool { return value(t, s, "lock:job") == "" })
	evicted := time.Now()
	lost := await(t, "Lost", events.lost)
	t.Logf("told after %v", faultTook(t, "to be told", evicted, time.Now(), ttl/3+ttl/6+faultSlack))
	faultIs(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
	faultIs(t, "Unlock", lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
}

// Row 30: a client is closed while it waits and holds, at any moment. Who waits is told so at once, a
// lease is not valid any more when its lock is free, which is long before its TTL is over, and neither
// connections nor goroutines are left; the server and TestMain look for these.
func TestFaultClosed(t *testing.T) {
	t.Parallel()
	const rounds, waiters = 20, 10
	s := faultServer(t)
	other := faultMet(t, s.URL(), nil)
	busy := acquire(t, other.Mutex("busy"))
	var ended []time.Duration
	for round := range rounds {
		c := faultMet(t, s.URL(), &lock.Options{Margin: 20 * time.Millisecond})
		held := acquire(t, c.Mutex("held"))
		var waits []<-chan faultResult
		for range waiters {
			waits = append(waits, faultLock(context.Background(), c.Mutex("busy")))
		}
		next := faultLock(soon(t), other.Mutex("held"))
		faultPause(time.Duration(round) * time.Millisecond)
		began := time.Now()
		var closes sync.WaitGroup
		for range 2 {
			closes.Go(func() {
				if err := c.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		for _, wait := range waits {
			r := await(t, "a waiter", wait)
			if r.lease != nil || !errors.Is(r.err, lock.ErrClosed) {
				t.Errorf("a waiter got %v, %v", r.lease, r.err)
			}
			ended = append(ended, r.at.Sub(began))
		}
		lease, _ := faultGot(t, next)
		faultIs(t, "Err", held.Err(), lock.ErrLost, lock.ErrClosed)
		if held.Valid() {
			t.Error("valid when another had acquired")
		}
		unlock(t, lease)
		closes.Wait()
		if n := c.Stats().Connections; n != 0 {
			t.Errorf("%d connections are left", n)
		}
	}
	median, most := faultSpread(ended)
	t.Logf("waiters were told after: median %v, at most %v, n = %d", median, most, len(ended))
	if limit := 50*time.Millisecond + faultSlack; most > limit {
		t.Errorf("a waiter was told after %v, want at most %v", most, limit)
	}
	unlock(t, busy)
}

// Row 32: the function that Do runs panics, or ends its goroutine. The lock is free, and who waits has it
// after one handover.
func TestFaultPanics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  func(do func())
	}{
		{"panic", func(do func()) {
			defer func() {
				if got := recover(); got != "bad" {
					t.Errorf("recovered %v", got)
				}
			}()
			do()
		}},
		{"goexit", func(do func()) {
			var gone sync.WaitGroup
			gone.Go(do)
			gone.Wait()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
			var wait <-chan faultResult
			c.run(func() {
				_ = holder.Do(soon(t), "job", func(context.Context) error {
					wait = faultLock(soon(t), waiter.Mutex("job"))
					faultBlocked(t, s, 1)
					if c.name == "goexit" {
						runtime.Goexit()
					}
					panic("bad")
				})
			})
			ended := time.Now()
			lease, at := faultGot(t, wait)
			t.Logf("handed over after %v", faultTook(t, "the handover", ended, at, faultSlack))
			unlock(t, lease)
		})
	}
}
