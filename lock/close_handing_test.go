package lock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Close comes while a lock without expiry is being made permanent. Nobody has its lease yet, so Close does
// not wait for its margin, nobody gets the lease, and the lock is given back.
func TestCloseBeforeALeaseIsHandedOut(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"release": false, "keep": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closeBeforeHandedOut(t, keep)
		})
	}
}

func closeBeforeHandedOut(t *testing.T, keep bool) {
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	var told []string
	c := locks.Met(t, p.URL(), &lock.Options{KeepOnClose: keep, Hooks: lock.Hooks{
		Lost:     func(e lock.Event) { told = append(told, "lost "+e.Name) },
		Released: func(e lock.Event) { told = append(told, "released "+e.Name) },
	}})
	reply := p.Catch(faultproxy.HoldReply, scripts.Extend.SHA1)
	m := c.MutexWith("job", &lock.MutexOptions{TTL: lock.NoExpiry, Margin: 10 * time.Second})
	got := make(chan error, 1)
	go func() {
		_, err := m.Lock(context.Background())
		got <- err
	}()
	await(t, "the reply", reply.Done())
	began := time.Now()
	closed := make(chan struct{})
	go func() { defer close(closed); _ = c.Close() }()
	redistest.Until(t, "the lease has ended", func() bool { return c.Stats().Lost == 1 })
	reply.Release()
	if err := await(t, "Lock", got); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("Lock: %v", err)
	}
	await(t, "Close", closed)
	if took := time.Since(began); took > locks.R {
		t.Errorf("Close took %v: it waited for the margin of a lease that nobody has", took)
	}
	if n := s.Do(t, "EXISTS", "lock:job"); n != int64(0) {
		t.Error("the lock is still held")
	}
	if len(told) > 0 {
		t.Errorf("hooks tell of a lease that nobody had: %v", told)
	}
}

// Close releases a lease with a short margin, and Redis does not answer. Who calls Unlock waits an operation
// limit for that, and not for the margins of the other leases.
func TestUnlockBesideCloseWithLongMargins(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	long := acquire(t, c.MutexWith("long", &lock.MutexOptions{Margin: 2*locks.R + locks.Slack}))
	defer runtime.KeepAlive(long)
	short := acquire(t, c.MutexWith("short", &lock.MutexOptions{Margin: 10 * time.Millisecond}))
	held := p.Catch(faultproxy.HoldRequest, scripts.Release.SHA1)
	closed := make(chan struct{})
	go func() { defer close(closed); _ = c.Close() }()
	await(t, "the release", held.Done())
	began := time.Now()
	locks.Is(t, "Unlock", short.Unlock(soon(t)), lock.ErrNotHeld)
	locks.Took(t, "Unlock", began, time.Now(), locks.R+locks.Slack)
	await(t, "Close", closed)
}
