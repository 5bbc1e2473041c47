package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 7b: an acquire is so late that it is executed after its clean-up, on a connection that its
// client has closed. It is cleaned up again.
func TestFaultAcquireLateAfterCleanUp(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, locks.WithoutKill(t, s, p), nil)
	late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
	cleanUp := p.Catch(faultproxy.Tell, wire.Release)
	_, err := askAndCancel(t, late, c.Mutex("job"),
		func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) })
	locks.Is(t, "TryLock", err, lock.ErrUnknown, context.Canceled)
	locks.Await(t, "the clean-up", cleanUp.Done())
	locks.Pause(locks.R / 2) // what is late on a closed connection is executed within R, or never
	lateAcquire(t, s, late)
}

// Row 7b, after a repeat: the first acquire is so late that it is executed after the lease that the
// repeat got was released.
func TestFaultAcquireLateAfterUnlock(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, locks.WithoutKill(t, s, p), nil)
	late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
	lease := locks.Acquire(t, c.Mutex("job"))
	locks.Unlock(t, lease)
	s.Do(t, "DEL", "lock-fence:job")
	lateAcquire(t, s, late)
}

// lateAcquire lets a held acquire be executed, and waits for its clean-up.
func lateAcquire(t *testing.T, s *redistest.Server, late *faultproxy.Catch) {
	t.Helper()
	late.Release()
	redistest.Until(t, "it is executed", func() bool { return locks.Value(t, s, "lock-fence:job") != "" })
	began := time.Now()
	redistest.Until(t, "it is cleaned up", func() bool { return locks.Value(t, s, "lock:job") == "" })
	locks.Took(t, "the second clean-up", began, time.Now(), locks.R+locks.Slack)
}

// Row 8: the reply to an acquire comes when its lease is over. It is no success, and the lock is given
// back.
func TestFaultAcquireReplyTooLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{TTL: 300 * time.Millisecond, Hooks: lock.Hooks{
		Acquired: func(e lock.Event) {
			if !e.Until.After(time.Now()) {
				t.Errorf("acquired until %v, which is over", e.Until)
			}
		},
	}})
	const delay = 400 * time.Millisecond
	p.Delay(faultproxy.ToClient, delay, "")
	asked := p.Catch(faultproxy.Tell, wire.Acquire)
	released := p.Catch(faultproxy.Tell, wire.Release, "lock:job")
	if lease, err := c.Mutex("job").TryLock(locks.Soon(t)); err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v, %v", lease, err)
	}
	locks.Await(t, "a release", released.Done())
	t.Logf("given back %v after the late reply", released.At().Sub(asked.At().Add(delay)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lease, err := c.Mutex("job").Lock(ctx)
	if lease != nil {
		t.Errorf("Lock: a lease whose end is %v", lease.Deadline())
	}
	locks.Is(t, "Lock", err, context.DeadlineExceeded)
	p.Heal()
	lease, err = c.Mutex("job").Lock(locks.Soon(t))
	if err != nil {
		t.Fatalf("Lock without delay: %v", err)
	}
	_ = lease.Unlock(locks.Soon(t)) // it may have ended again, on a slow machine
}

// A lock that was granted too late is not taken, and not met as somebody else's either.
func TestFaultTryLockGrantedTooLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{TTL: 300 * time.Millisecond})
	late := p.Catch(faultproxy.HoldReply, wire.Acquire)
	done := make(chan error, 1)
	go func() {
		_, err := c.Mutex("job").TryLock(locks.Soon(t))
		done <- err
	}()
	locks.Await(t, "the reply", late.Done())
	locks.Pause(300 * time.Millisecond)
	late.Release()
	if err := locks.Await(t, "TryLock", done); err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}
}

// A lock under a given id that was granted too late is not found to be held by somebody else.
func TestFaultGivenIDTooLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	held := p.Catch(faultproxy.HoldReply, wire.Acquire)
	done := make(chan error, 1)
	go func() {
		m := c.MutexWith("job", &lock.MutexOptions{ID: "mine", MaxHold: 50 * time.Millisecond})
		done <- locks.ErrOf(m.Lock(locks.Soon(t)))
	}()
	locks.Await(t, "the fault", held.Done())
	<-time.After(100 * time.Millisecond)
	held.Release()
	err := locks.Await(t, "Lock", done)
	if err == nil || errors.Is(err, lock.ErrAlreadyHeld) {
		t.Errorf("Lock: %v", err)
	}
	redistest.Until(t, "it is cleaned up", func() bool { return locks.Value(t, s, "lock:job") == "" })
}
