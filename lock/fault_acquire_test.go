package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 7: the reply to an acquire is lost. The acquire is repeated under the same id, finds itself,
// and does not wait for itself.
func TestFaultAcquireReplyLost(t *testing.T) {
	t.Parallel()
	const ttl, margin = 20 * time.Second, time.Second
	tryLock := func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) }
	wait := func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Lock(ctx) }
	for _, c := range []struct {
		name  string
		fate  faultproxy.Fate
		lock  func(context.Context, *lock.Mutex) (*lock.Lease, error)
		limit time.Duration
	}{
		{"TryLock, cut", faultproxy.CutReply, tryLock, faultSlack},
		{"TryLock, no reply", faultproxy.HoldReply, tryLock, faultR + faultSlack},
		{"TryLock, not executed", faultproxy.CutRequest, tryLock, faultSlack},
		{"Lock, cut", faultproxy.CutReply, wait, faultSlack},
		{"Lock, no reply", faultproxy.HoldReply, wait, faultR + faultSlack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			client := faultMet(t, p.URL(), &lock.Options{TTL: ttl, Margin: margin})
			first := p.Catch(c.fate, scripts.Acquire.SHA1)
			second := p.Catch(faultproxy.Tell, scripts.Acquire.SHA1)
			began := time.Now()
			lease, err := c.lock(soon(t), client.Mutex("job"))
			if err != nil {
				t.Fatalf("not repeated: %v", err)
			}
			t.Logf("repeated within %v", faultTook(t, "the repeat", began, time.Now(), c.limit))
			await(t, "the fault", first.Done())
			if got := value(t, s, "lock:job"); got != lease.ID() {
				t.Errorf("the lock holds %q, the lease's id is %q", got, lease.ID())
			}
			if got := faultInt(t, value(t, s, "lock-fence:job")); got != lease.Fence() {
				t.Errorf("the fence is %d, the lease's %d", got, lease.Fence())
			}
			if late := lease.Deadline().Sub(second.At().Add(ttl - margin)); late > 0 {
				t.Errorf("the deadline counts from %v after the send of the repeat", late)
			}
			unlock(t, lease)
		})
	}
}

// Row 7: the replies to an acquire and to its repeat are lost. The error says that the outcome is not
// known, and nobody waits for the orphan's TTL.
func TestFaultAcquireRepliesLost(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	for range 2 {
		p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	}
	began := time.Now()
	_, err := c.Mutex("job").TryLock(soon(t))
	faultIs(t, "TryLock", err, lock.ErrUnknown)
	if errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v: is ErrHeld", err)
	}
	lease, at := faultGot(t, faultLock(soon(t), faultOpen(t, s.URL(), nil).Mutex("job")))
	t.Logf("cleaned up within %v", faultTook(t, "the clean-up", began, at, faultR+faultSlack))
	unlock(t, lease)
}

// Row 7b: the caller leaves while its acquire is under way. It gets its context's error, and what it
// may have left is cleaned up.
func TestFaultAcquireCancelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lock func(context.Context, *lock.Mutex) (*lock.Lease, error)
	}{
		{"TryLock", func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) }},
		{"Lock", func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Lock(ctx) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			client, other := faultMet(t, p.URL(), nil), faultMet(t, s.URL(), nil)
			held := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
			began, err := faultCancelled(t, held, client.Mutex("job"), c.lock)
			faultIs(t, c.name, err, lock.ErrUnknown, context.Canceled)
			if value(t, s, "lock:job") == "" {
				t.Fatal("it was not executed: this tests nothing")
			}
			next := faultLock(soon(t), other.Mutex("job"))
			held.Release()
			lease, at := faultGot(t, next)
			faultTook(t, "the clean-up", began, at, faultR+faultSlack)
			unlock(t, lease)
		})
	}
}

// faultCancelled calls lock, cancels its context when the catch has come, and returns when that was
// and the error.
func faultCancelled(t *testing.T, caught *faultproxy.Catch, m *lock.Mutex,
	lockIt func(context.Context, *lock.Mutex) (*lock.Lease, error),
) (time.Time, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := lockIt(ctx, m)
		done <- err
	}()
	await(t, "the acquire", caught.Done())
	cancelled := time.Now()
	cancel()
	err := await(t, "the end", done)
	faultTook(t, "to return after the cancel", cancelled, time.Now(), faultSlack)
	return cancelled, err
}

// Row 7b: an acquire is so late that it is executed after its clean-up, on a connection that its
// client has closed. It is cleaned up again.
func TestFaultAcquireLateAfterCleanUp(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, faultWithoutKill(t, s, p), nil)
	late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
	cleanUp := p.Catch(faultproxy.Tell, scripts.Release.SHA1)
	_, err := faultCancelled(t, late, c.Mutex("job"),
		func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) })
	faultIs(t, "TryLock", err, lock.ErrUnknown, context.Canceled)
	await(t, "the clean-up", cleanUp.Done())
	faultPause(faultR / 2) // what is late on a closed connection is executed within R, or never
	faultLateAcquire(t, s, late)
}

// Row 7b, after a repeat: the first acquire is so late that it is executed after the lease that the
// repeat got was released.
func TestFaultAcquireLateAfterUnlock(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, faultWithoutKill(t, s, p), nil)
	late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
	lease := acquire(t, c.Mutex("job"))
	unlock(t, lease)
	s.Do(t, "DEL", "lock-fence:job")
	faultLateAcquire(t, s, late)
}

// faultLateAcquire lets a held acquire be executed, and waits for its clean-up.
func faultLateAcquire(t *testing.T, s *redistest.Server, late *faultproxy.Catch) {
	t.Helper()
	late.Release()
	redistest.Until(t, "it is executed", func() bool { return value(t, s, "lock-fence:job") != "" })
	began := time.Now()
	redistest.Until(t, "it is cleaned up", func() bool { return value(t, s, "lock:job") == "" })
	faultTook(t, "the second clean-up", began, time.Now(), faultR+faultSlack)
}

// Row 8: the reply to an acquire comes when its lease is over. It is no success, and the lock is given
// back.
func TestFaultAcquireReplyTooLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), &lock.Options{TTL: 300 * time.Millisecond, Hooks: lock.Hooks{
		Acquired: func(i lock.AcquiredInfo) {
			if !i.Until.After(time.Now()) {
				t.Errorf("acquired until %v, which is over", i.Until)
			}
		},
	}})
	const delay = 400 * time.Millisecond
	p.Delay(faultproxy.ToClient, delay, "")
	asked := p.Catch(faultproxy.Tell, scripts.Acquire.SHA1)
	released := p.Catch(faultproxy.Tell, scripts.Release.SHA1, "lock:job")
	if lease, err := c.Mutex("job").TryLock(soon(t)); err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v, %v", lease, err)
	}
	await(t, "a release", released.Done())
	t.Logf("given back %v after the late reply", released.At().Sub(asked.At().Add(delay)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lease, err := c.Mutex("job").Lock(ctx)
	if lease != nil {
		t.Errorf("Lock: a lease whose end is %v", lease.Deadline())
	}
	faultIs(t, "Lock", err, context.DeadlineExceeded)
	p.Heal()
	lease, err = c.Mutex("job").Lock(soon(t))
	if err != nil {
		t.Fatalf("Lock without delay: %v", err)
	}
	_ = lease.Unlock(soon(t)) // it may have ended again, on a slow machine
}

// A call that was never answered breaks its connection. Whoever asked meanwhile has little time left
// then; that is no reason for the repeat of the first call, which has much, to fail with it.
func TestFaultRepeatBesideOldCalls(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	unanswered := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	first := make(chan error, 1)
	go func() {
		_, err := c.Mutex("first").TryLock(soon(t))
		first <- err
	}()
	await(t, "the call without reply", unanswered.Done())
	const others = 20
	rest := make(chan error, others)
	for i := range others {
		faultPause(time.Millisecond)
		go func() {
			_, err := c.Mutex(fmt.Sprint("other-", i)).TryLock(soon(t))
			rest <- err
		}()
	}
	if err := await(t, "the first call", first); err != nil {
		t.Errorf("the first call: %v", err)
	}
	for range others {
		if err := await(t, "the others", rest); err != nil {
			t.Errorf("another call: %v", err)
		}
	}
}
