package faults_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 30: a client is closed while it waits and holds, at any moment. Who waits is told so at once, a
// lease is not valid any more when its lock is free, which is long before its TTL is over, and neither
// connections nor goroutines are left; the server and TestMain look for these.
func TestFaultClosed(t *testing.T) {
	t.Parallel()
	const rounds, waiters = 20, 10
	s := locks.Server(t)
	other := locks.Met(t, s.URL(), nil)
	busy := locks.Acquire(t, other.Mutex("busy"))
	var ended []time.Duration
	for round := range rounds {
		c := locks.Met(t, s.URL(), &lock.Options{Margin: 20 * time.Millisecond})
		held := locks.Acquire(t, c.Mutex("held"))
		var waits []<-chan locks.Result
		for range waiters {
			waits = append(waits, locks.Later(context.Background(), c.Mutex("busy")))
		}
		next := locks.Later(locks.Soon(t), other.Mutex("held"))
		locks.Pause(time.Duration(round) * time.Millisecond)
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
			r := locks.Await(t, "a waiter", wait)
			if r.Lease != nil || !errors.Is(r.Err, lock.ErrClosed) {
				t.Errorf("a waiter got %v, %v", r.Lease, r.Err)
			}
			ended = append(ended, r.At.Sub(began))
		}
		lease, _ := locks.Got(t, next)
		locks.Is(t, "Err", held.Err(), lock.ErrLost, lock.ErrClosed)
		if held.Valid() {
			t.Error("valid when another had acquired")
		}
		locks.Unlock(t, lease)
		closes.Wait()
		if n := c.Stats().Connections; n != 0 {
			t.Errorf("%d connections are left", n)
		}
	}
	median, most := locks.Spread(ended)
	t.Logf("waiters were told after: median %v, at most %v, n = %d", median, most, len(ended))
	if limit := 50*time.Millisecond + locks.Slack; most > limit {
		t.Errorf("a waiter was told after %v, want at most %v", most, limit)
	}
	locks.Unlock(t, busy)
}

// Unlock beside Close: the lock is given up, and Unlock says so or that the lease had ended.
func TestFaultUnlockBesideClose(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	lease := locks.Acquire(t, c.Mutex("job"))
	slow := p.Catch(faultproxy.HoldRequest, wire.Release)
	unlocked, closed := make(chan error, 1), make(chan error, 1)
	go func() { unlocked <- lease.Unlock(context.Background()) }()
	locks.Await(t, "the release", slow.Done())
	go func() { closed <- c.Close() }()
	over, cancel := context.WithCancel(context.Background())
	cancel() // a call that is let in sends nothing
	redistest.Until(t, "Close begins", func() bool {
		return errors.Is(locks.ErrOf(c.Mutex("other").TryLock(over)), lock.ErrClosed)
	})
	locks.Pause(100 * time.Millisecond) // Close would have cut the release off by now
	slow.Release()
	if err := locks.Await(t, "Unlock", unlocked); err != nil {
		t.Errorf("Unlock beside Close: %v", err)
	}
	locks.Await(t, "Close", closed)
	if n := s.Do(t, "EXISTS", "lock:job"); n != int64(0) {
		t.Error("the lock is held after Unlock and Close")
	}
}
