package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
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
		{"TryLock, cut", faultproxy.CutReply, tryLock, locks.Slack},
		{"TryLock, no reply", faultproxy.HoldReply, tryLock, locks.R + locks.Slack},
		{"TryLock, not executed", faultproxy.CutRequest, tryLock, locks.Slack},
		{"Lock, cut", faultproxy.CutReply, wait, locks.Slack},
		{"Lock, no reply", faultproxy.HoldReply, wait, locks.R + locks.Slack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			client := locks.Met(t, p.URL(), &lock.Options{TTL: ttl, Margin: margin})
			first := p.Catch(c.fate, wire.Acquire)
			second := p.Catch(faultproxy.Tell, wire.Acquire)
			began := time.Now()
			lease, err := c.lock(locks.Soon(t), client.Mutex("job"))
			if err != nil {
				t.Fatalf("not repeated: %v", err)
			}
			t.Logf("repeated within %v", locks.Took(t, "the repeat", began, time.Now(), c.limit))
			locks.Await(t, "the fault", first.Done())
			if got := locks.Value(t, s, "lock:job"); got != lease.ID() {
				t.Errorf("the lock holds %q, the lease's id is %q", got, lease.ID())
			}
			if got := locks.Int(t, locks.Value(t, s, "lock-fence:job")); got != lease.Fence() {
				t.Errorf("the fence is %d, the lease's %d", got, lease.Fence())
			}
			if late := lease.Deadline().Sub(second.At().Add(ttl - margin)); late > 0 {
				t.Errorf("the deadline counts from %v after the send of the repeat", late)
			}
			locks.Unlock(t, lease)
		})
	}
}

// Row 7: the replies to an acquire and to its repeat are lost. The error says that the outcome is not
// known, and nobody waits for the orphan's TTL.
func TestFaultAcquireRepliesLost(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	for range 2 {
		p.Catch(faultproxy.CutReply, wire.Acquire)
	}
	began := time.Now()
	_, err := c.Mutex("job").TryLock(locks.Soon(t))
	locks.Is(t, "TryLock", err, lock.ErrUnknown)
	if errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v: is ErrHeld", err)
	}
	lease, at := locks.Got(t, locks.Later(locks.Soon(t), locks.Open(t, s.URL(), nil).Mutex("job")))
	t.Logf("cleaned up within %v", locks.Took(t, "the clean-up", began, at, locks.R+locks.Slack))
	locks.Unlock(t, lease)
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
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			client, other := locks.Met(t, p.URL(), nil), locks.Met(t, s.URL(), nil)
			held := p.Catch(faultproxy.HoldReply, wire.Acquire)
			began, err := askAndCancel(t, held, client.Mutex("job"), c.lock)
			locks.Is(t, c.name, err, lock.ErrUnknown, context.Canceled)
			if locks.Value(t, s, "lock:job") == "" {
				t.Fatal("it was not executed: this tests nothing")
			}
			next := locks.Later(locks.Soon(t), other.Mutex("job"))
			held.Release()
			lease, at := locks.Got(t, next)
			locks.Took(t, "the clean-up", began, at, locks.R+locks.Slack)
			locks.Unlock(t, lease)
		})
	}
}

// askAndCancel calls lock, cancels its context when the catch has come, and returns when that was
// and the error.
func askAndCancel(t *testing.T, caught *faultproxy.Catch, m *lock.Mutex,
	lockIt func(context.Context, *lock.Mutex) (*lock.Lease, error),
) (time.Time, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(locks.Soon(t))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := lockIt(ctx, m)
		done <- err
	}()
	locks.Await(t, "the acquire", caught.Done())
	cancelled := time.Now()
	cancel()
	err := locks.Await(t, "the end", done)
	locks.Took(t, "to return after the cancel", cancelled, time.Now(), locks.Slack)
	return cancelled, err
}

// A call that was never answered breaks its connection. Whoever asked meanwhile has little time left
// then; that is no reason for the repeat of the first call, which has much, to fail with it.
func TestFaultRepeatBesideOldCalls(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	unanswered := p.Catch(faultproxy.HoldReply, wire.Acquire)
	first := make(chan error, 1)
	go func() {
		_, err := c.Mutex("first").TryLock(locks.Soon(t))
		first <- err
	}()
	locks.Await(t, "the call without reply", unanswered.Done())
	const others = 20
	rest := make(chan error, others)
	for i := range others {
		locks.Pause(time.Millisecond)
		go func() {
			_, err := c.Mutex(fmt.Sprint("other-", i)).TryLock(locks.Soon(t))
			rest <- err
		}()
	}
	if err := locks.Await(t, "the first call", first); err != nil {
		t.Errorf("the first call: %v", err)
	}
	for range others {
		if err := locks.Await(t, "the others", rest); err != nil {
			t.Errorf("another call: %v", err)
		}
	}
}
