package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMaxHold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	lost := make(chan lock.Event, 1)
	c := open(t, s, &lock.Options{
		TTL: 2 * time.Second, MaxHold: 2500 * time.Millisecond,
		Hooks: lock.Hooks{Lost: func(e lock.Event) { lost <- e }},
	})
	began := time.Now()
	lease := acquire(t, c.Mutex("job"))
	ctx, cancel := lease.Context(soon(t))
	defer cancel()
	<-ctx.Done()
	held := time.Since(began)
	if held < 2400*time.Millisecond {
		t.Errorf("the lease ended after %v", held)
	}
	for what, err := range map[string]error{
		"Err": lease.Err(), "cause": context.Cause(ctx), "hook": await(t, "Lost", lost).Err,
	} {
		if !errors.Is(err, lock.ErrMaxHold) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if lease.Valid() {
		t.Error("it is valid still")
	}
	err := lease.Unlock(soon(t))
	if !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock: %v", err)
	}
	if got := value(t, s, "lock:job"); got != "" {
		t.Errorf("Unlock left the key: %q", got)
	}
	if stats := c.Stats(); stats.Renewals == 0 {
		t.Error("it was never renewed: this tests nothing")
	}
}

// Do reports that its function was cut off.
func TestMaxHoldInDo(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	m := c.MutexWith(redistest.Name(t), &lock.MutexOptions{MaxHold: 50 * time.Millisecond})
	err := m.Do(soon(t), func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, lock.ErrMaxHold) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Do: %v", err)
	}
}

func TestHoldAtLeast(t *testing.T) {
	t.Parallel()
	const least = 2500 * time.Millisecond
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Label: "cron", HoldAtLeast: least})
	began := time.Now()
	lease := acquire(t, c.Mutex("job"))
	got := lockLater(t, soon(t), open(t, s, nil), "job")
	blocked(t, s, 1)

	unlock(t, lease)
	if err := lease.Err(); err != lock.ErrReleased {
		t.Errorf("Err: %v", err)
	}
	if got, want := value(t, s, "lock:job"), lease.ID()+"/kept"; got != want {
		t.Errorf("the lock holds %q, want %q", got, want)
	}
	if left := pttl(t, s, "lock:job"); left <= 0 || left > least.Milliseconds() {
		t.Errorf("it is kept for %d ms", left)
	}
	o, err := c.Owner(soon(t), "job")
	if err != nil || !o.Kept || o.Label != "cron" || !strings.Contains(o.String(), "kept") {
		t.Errorf("the owner is %v, %v", o, err)
	}
	var held *lock.HeldError
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.As(err, &held) || !held.Owner.Kept {
		t.Errorf("TryLock: %v", err)
	}
	unlock(t, lease) // once more

	next := await(t, "the waiter", got)
	if next.Err != nil {
		t.Fatalf("the waiter: %v", next.Err)
	}
	if took := time.Since(began); took < least {
		t.Errorf("the next holder had it after %v", took)
	}
	unlock(t, next.Lease)
}

// A client that lives when the minimum is over gives a signal, for waiters that know of no TTL.
func TestHoldAtLeastSignalsAtItsEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	m := c.MutexWith("job", &lock.MutexOptions{HoldAtLeast: time.Second})
	lease := acquire(t, m)
	unlock(t, lease)
	s.Do(t, "DEL", "lock-signal:job")
	redistest.Until(t, "the signal is given", func() bool { return s.Do(t, "LLEN", "lock-signal:job") == int64(1) })
	if left := pttl(t, s, "lock:job"); left != -2 {
		t.Errorf("it was given %d ms too early", left)
	}
}

// A minimum that is over, a lease that was lost, and a Close keep nothing.
func TestHoldAtLeastKeepsNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)

	lease := acquire(t, c.MutexWith("over", &lock.MutexOptions{HoldAtLeast: time.Millisecond}))
	redistest.Until(t, "the minimum is over", func() bool { return s.Do(t, "PING") != nil && lease.Valid() })
	<-time.After(2 * time.Millisecond)
	unlock(t, lease)

	m := c.MutexWith("lost", &lock.MutexOptions{
		HoldAtLeast: time.Second, MaxHold: time.Second,
	})
	lease = acquire(t, m)
	<-lease.Done()
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the lost one: %v", err)
	}

	other := open(t, s, &lock.Options{HoldAtLeast: time.Hour})
	acquire(t, other.Mutex("closed"))
	_ = other.Close()
	if left := s.Keys(t, "lock:*"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// A release with a minimum whose reply is lost is repeated, and finds that it was done.
func TestHoldAtLeastRepeated(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{HoldAtLeast: time.Hour})
	for _, fate := range []faultproxy.Fate{faultproxy.CutReply, faultproxy.CutRequest} {
		lease := acquire(t, c.Mutex("job"))
		p.Catch(fate, scripts.Release.SHA1)
		unlock(t, lease)
		if got, want := value(t, s, "lock:job"), lease.ID()+"/kept"; got != want {
			t.Errorf("the lock holds %q, want %q", got, want)
		}
		s.Do(t, "DEL", "lock:job")
	}
}

func TestNoExpiry(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: lock.NoExpiry})
	lease := acquire(t, c.Mutex("job"))
	if left := pttl(t, s, "lock:job"); left != -1 {
		t.Errorf("it has %d ms left", left)
	}
	if !lease.Deadline().IsZero() || !lease.Valid() {
		t.Errorf("the deadline is %v, valid %v", lease.Deadline(), lease.Valid())
	}
	if err := lease.Extend(soon(t), time.Minute); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Extend: %v", err)
	}
	o, err := c.Owner(soon(t), "job")
	if err != nil || o.TTL != lock.NoExpiry {
		t.Errorf("the owner is %v, %v", o, err)
	}
	unlock(t, lease)
	if left := pttl(t, s, "lock:job"); left != -2 {
		t.Errorf("after Unlock it has %d ms left", left)
	}
}

// Where a lock without expiry is left to expire, it can.
func TestNoExpiryExpires(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	expires := func(what, key string) {
		t.Helper()
		redistest.Until(t, what+" can expire", func() bool { return pttl(t, s, key) > 0 })
		if left := pttl(t, s, key); left > 30_000 {
			t.Errorf("%s: it has %d ms left", what, left)
		}
	}
	c := open(t, s, &lock.Options{TTL: lock.NoExpiry})
	lease := acquire(t, c.MutexWith("max", &lock.MutexOptions{MaxHold: time.Second}))
	if lease.Deadline().IsZero() {
		t.Error("MaxHold does not bound the lease")
	}
	<-lease.Done()
	if !errors.Is(lease.Err(), lock.ErrMaxHold) {
		t.Errorf("Err: %v", lease.Err())
	}
	expires("MaxHold", "lock:max")

	kept := open(t, s, &lock.Options{TTL: lock.NoExpiry, KeepOnClose: true})
	acquire(t, kept.Mutex("kept"))
	if left := pttl(t, s, "lock:kept"); left != -1 {
		t.Errorf("it has %d ms left", left)
	}
	_ = kept.Close()
	expires("KeepOnClose", "lock:kept")
}

// While Redis does not make it permanent, it is a lease of 30 s, and tried again.
func TestNoExpiryIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{TTL: lock.NoExpiry})
	caught := p.Catch(faultproxy.CutRequest, scripts.Extend.SHA1)
	lease := acquire(t, c.Mutex("job"))
	await(t, "the fault", caught.Done())
	redistest.Until(t, "it is permanent", func() bool { return pttl(t, s, "lock:job") == -1 })
	redistest.Until(t, "the lease knows", func() bool { return lease.Deadline().IsZero() })
	unlock(t, lease)
}

func TestNoFence(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{NoFence: true, TTL: 2 * time.Second})
	lease := acquire(t, c.Mutex("job"))
	if lease.Fence() != 0 {
		t.Errorf("the token is %d", lease.Fence())
	}
	redistest.Until(t, "it is renewed", func() bool { return c.Stats().Renewals > 1 })
	unlock(t, lease)
	if keys := s.Keys(t, "lock-fence:*"); len(keys) != 0 {
		t.Errorf("fences: %q", keys)
	}
}

func TestMaxWaiters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := acquire(t, open(t, s, nil).Mutex("job"))
	c := open(t, s, &lock.Options{MaxWaiters: 2})
	first, second := lockLater(t, soon(t), c, "job"), lockLater(t, soon(t), c, "job")
	redistest.Until(t, "both wait", func() bool { return c.Stats().Waiting == 2 })

	_, err := c.Mutex("job").Lock(soon(t))
	if !errors.Is(err, lock.ErrTooManyWaiters) || !strings.Contains(err.Error(), "2 wait") {
		t.Errorf("the third: %v", err)
	}
	unlock(t, acquire(t, c.Mutex("free"))) // not waiting is no matter of the limit
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}

	unlock(t, holder)
	for range 2 {
		select {
		case r := <-first:
			unlock(t, r.Lease)
		case r := <-second:
			unlock(t, r.Lease)
		}
	}
	if stats := c.Stats(); stats.Waiting != 0 || stats.Handovers != 2 {
		t.Errorf("the stats are %+v", stats)
	}
}

// The third is told who holds the lock if it was not told to queue up behind others.
func TestMaxWaitersSaysWhoHolds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	other := open(t, s, nil)
	acquire(t, other.Mutex("a"))
	acquire(t, other.Mutex("b"))
	c := open(t, s, &lock.Options{MaxWaiters: 1})
	ctx, cancel := context.WithCancel(soon(t))
	first := lockLater(t, ctx, c, "a")
	redistest.Until(t, "one waits", func() bool { return c.Stats().Waiting == 1 })
	_, err := c.Mutex("b").Lock(soon(t))
	if !errors.Is(err, lock.ErrTooManyWaiters) || !errors.Is(err, lock.ErrHeld) {
		t.Errorf("the second: %v", err)
	}
	cancel()
	if r := await(t, "the first", first); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("the first: %v", r.Err)
	}
}

// A lock without expiry whose release is refused for good is left to expire.
func TestNoExpiryRefusedRelease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := locks.Open(t, s.URL(), &lock.Options{TTL: lock.NoExpiry})
	lease := locks.Acquire(t, c.Mutex("job"))
	s.Do(t, "ACL", "SETUSER", "default", "-del")
	if err := lease.Unlock(locks.Soon(t)); err == nil || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
	redistest.Until(t, "it can expire", func() bool { return locks.PTTL(t, s, "lock:job") > 0 })
	s.Do(t, "ACL", "SETUSER", "default", "+del")
}
