package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// A key that became something else ends the lease at the next renewal, not when its time is up.
func TestFaultKeyBecomesSomethingElse(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	c := faultMet(t, s.URL(), &lock.Options{TTL: 900 * time.Millisecond})
	for what, learn := range map[string]func(*lock.Lease){
		"renewal": func(lease *lock.Lease) { await(t, "the loss", lease.Done()) },
		"Extend": func(lease *lock.Lease) {
			if err := lease.Extend(soon(t), time.Minute); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Extend: %v", err)
			}
		},
	} {
		lease := acquire(t, c.Mutex(what))
		s.Do(t, "DEL", "lock:"+what)
		s.Do(t, "SADD", "lock:"+what, "x")
		learn(lease)
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrWrongType) {
			t.Errorf("%s: Err %v", what, err)
		}
		if time.Until(lease.Deadline()) <= 0 {
			t.Errorf("%s: told only when its time was up", what)
		}
	}
}

// A lock that was granted too late is not taken, and not met as somebody else's either.
func TestFaultTryLockGrantedTooLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), &lock.Options{TTL: 300 * time.Millisecond})
	late := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	done := make(chan error, 1)
	go func() {
		_, err := c.Mutex("job").TryLock(soon(t))
		done <- err
	}()
	await(t, "the reply", late.Done())
	faultPause(300 * time.Millisecond)
	late.Release()
	if err := await(t, "TryLock", done); err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}
}

// Unlock beside Close: the lock is given up, and Unlock says so or that the lease had ended.
func TestFaultUnlockBesideClose(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	lease := acquire(t, c.Mutex("job"))
	slow := p.Catch(faultproxy.HoldRequest, scripts.Release.SHA1)
	unlocked, closed := make(chan error, 1), make(chan error, 1)
	go func() { unlocked <- lease.Unlock(context.Background()) }()
	await(t, "the release", slow.Done())
	go func() { closed <- c.Close() }()
	await(t, "Close to begin", c.Closing())
	faultPause(100 * time.Millisecond) // Close would have cut the release off by now
	slow.Release()
	if err := await(t, "Unlock", unlocked); err != nil {
		t.Errorf("Unlock beside Close: %v", err)
	}
	await(t, "Close", closed)
	if n := s.Do(t, "EXISTS", "lock:job"); n != int64(0) {
		t.Error("the lock is held after Unlock and Close")
	}
}

// A hook that calls Unlock does not wait for itself, whoever noticed the loss.
func TestFaultUnlockInLostHook(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	leases, told := make(chan *lock.Lease, 1), make(chan error, 1)
	c := faultMet(t, s.URL(), &lock.Options{
		TTL: 50 * time.Millisecond, NoRenewal: true,
		Hooks: lock.Hooks{Lost: func(lock.LostInfo) { told <- (<-leases).Unlock(context.Background()) }},
	})
	for range 20 {
		lease := must(c.Mutex("job").Lock(soon(t)))(t)
		leases <- lease
		for lease.Valid() { // its timer and Unlock notice at the same time
		}
		_ = lease.Unlock(context.Background())
		if err := await(t, "the hook", told); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock in the hook: %v", err)
		}
	}
}
