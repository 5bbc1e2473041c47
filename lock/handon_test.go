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

func TestDetachAndAdopt(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	web := open(t, s, &lock.Options{Label: "web", TTL: time.Minute})
	worker := open(t, s, &lock.Options{Label: "worker", TTL: 2 * time.Second})
	lease := acquire(t, web.Mutex("job"))
	ctx, cancel := lease.Context(soon(t))
	defer cancel()
	s.Do(t, "PEXPIRE", "lock:job", 20_000)

	id, err := lease.Detach(soon(t))
	if err != nil || id != lease.ID() {
		t.Fatalf("Detach: %q, %v", id, err)
	}
	<-ctx.Done()
	if lease.Valid() || lease.Err() != lock.ErrDetached || context.Cause(ctx) != lock.ErrDetached {
		t.Errorf("after Detach: valid %v, %v, cause %v", lease.Valid(), lease.Err(), context.Cause(ctx))
	}
	if left := pttl(t, s, "lock:job"); left < 50_000 {
		t.Errorf("it has %d ms left", left)
	}
	for range 2 {
		err := lease.Unlock(soon(t))
		if !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrDetached) || errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock after Detach: %v", err)
		}
	}
	if _, err := lease.Detach(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Detach again: %v", err)
	}
	if value(t, s, "lock:job") != id {
		t.Fatal("the lock is not held any more")
	}

	taken, err := worker.Mutex("job").Adopt(soon(t), id)
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if taken.ID() == id || !strings.HasPrefix(taken.ID(), "worker/") || taken.Fence() <= lease.Fence() {
		t.Errorf("adopted under %q with the token %d after %d", taken.ID(), taken.Fence(), lease.Fence())
	}
	if left := pttl(t, s, "lock:job"); left > 2000 {
		t.Errorf("it has %d ms left", left)
	}
	redistest.Until(t, "it is renewed", func() bool { return worker.Stats().Renewals > 1 })
	if _, err := worker.Mutex("job").Adopt(soon(t), id); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("Adopt again: %v", err)
	}
	unlock(t, taken)
	if _, err := worker.Mutex("job").Adopt(soon(t), id); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Adopt of a free one: %v", err)
	}
}

// Whoever did not detach is told at the next renewal, also if the id stays.
func TestAdoptWithoutDetach(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		s := redistest.Start(t)
		c := open(t, s, &lock.Options{TTL: 2 * time.Second})
		first := acquire(t, c.Mutex("job"))
		m := open(t, s, nil).MutexWith("job", &lock.MutexOptions{KeepID: keep})
		second, err := m.Adopt(soon(t), first.ID())
		if err != nil {
			t.Fatalf("Adopt: %v", err)
		}
		if same := second.ID() == first.ID(); same != keep {
			t.Errorf("the same id: %v, want %v", same, keep)
		}
		<-first.Done()
		if !errors.Is(first.Err(), lock.ErrLost) {
			t.Errorf("the first: %v", first.Err())
		}
		if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("Unlock of the first: %v", err)
		}
		unlock(t, second)
	}
}

// Not even before it is told does it release the lock.
func TestAdoptWithoutDetachAndUnlock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	first := acquire(t, c.Mutex("job"))
	second, err := c.MutexWith("job", &lock.MutexOptions{KeepID: true}).Adopt(soon(t), first.ID())
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the first: %v", err)
	}
	unlock(t, second)
}

// An adoption whose reply is lost is repeated under the same fresh id; one that nobody waits for any
// more is cleaned up.
func TestAdoptUnknown(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	s.Do(t, "SET", "lock:job", "theirs", "PX", 60_000)
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	lease, err := c.Mutex("job").Adopt(soon(t), "theirs")
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if value(t, s, "lock:job") != lease.ID() {
		t.Error("it is held under another id")
	}
	unlock(t, lease)

	s.Do(t, "SET", "lock:job", "theirs", "PX", 60_000)
	held := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		<-held.Done()
		cancel()
	}()
	if _, err := c.Mutex("job").Adopt(ctx, "theirs"); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Adopt, cancelled: %v", err)
	}
	held.Release()
	redistest.Until(t, "it is cleaned up", func() bool { return value(t, s, "lock:job") == "" })
}

func TestDetachOfALostLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	lease := acquire(t, c.Mutex("job"))
	s.Do(t, "SET", "lock:job", "theirs")
	id, err := lease.Detach(soon(t))
	if id != "" || !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Detach: %q, %v", id, err)
	}
	if value(t, s, "lock:job") != "theirs" {
		t.Error("it touched the other's lock")
	}

	ended := acquire(t, c.MutexWith("short", &lock.MutexOptions{MaxHold: time.Second}))
	<-ended.Done()
	id, err = ended.Detach(soon(t))
	if id != "" || !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrMaxHold) {
		t.Errorf("Detach of an ended one: %q, %v", id, err)
	}
}

// What has no answer leaves the id good.
// Nobody gets the id of a lease that ended before it was detached, so its lock is released.
func TestDetachOfAnEndedLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: time.Minute, Margin: 59 * time.Second, NoRenewal: true})
	lease := acquire(t, c.Mutex("job"))
	<-lease.Done()
	if id, err := lease.Detach(soon(t)); id != "" || !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Detach: %q, %v", id, err)
	}
	redistest.Until(t, "it is released", func() bool { return value(t, s, "lock:job") == "" })
}

func TestDetachUnknown(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	lease := acquire(t, c.Mutex("job"))
	dead, cancel := context.WithCancel(soon(t))
	cancel()
	if _, err := lease.Detach(dead); !errors.Is(err, context.Canceled) || !lease.Valid() {
		t.Errorf("Detach with a dead context: %v, valid %v", err, lease.Valid())
	}
	held := p.Catch(faultproxy.HoldRequest, scripts.Extend.SHA1)
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		<-held.Done()
		cancel()
	}()
	id, err := lease.Detach(ctx)
	if id != lease.ID() || err == nil || errors.Is(err, lock.ErrNotHeld) || lease.Valid() {
		t.Errorf("Detach: %q, %v", id, err)
	}
	held.Release()
	if err := c.ReleaseID(soon(t), "job", id); err != nil {
		t.Errorf("ReleaseID: %v", err)
	}
}

func TestReleaseID(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	lease := acquire(t, c.Mutex("job"))
	waiter := lockLater(t, soon(t), open(t, s, nil), "job")
	blocked(t, s, 1)
	if err := c.ReleaseID(soon(t), "job", "x"); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("another id: %v", err)
	}
	if err := c.ReleaseID(soon(t), "job", lease.ID()); err != nil {
		t.Errorf("ReleaseID: %v", err)
	}
	next := await(t, "the waiter", waiter)
	if next.Err != nil {
		t.Fatal(next.Err)
	}
	if err := c.ReleaseID(soon(t), "job", lease.ID()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("ReleaseID again: %v", err)
	}
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock: %v", err)
	}
	unlock(t, next.Lease)
}

// A release whose reply is lost may have been ours.
func TestReleaseIDUnknown(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	s.Do(t, "SET", "lock:job", "theirs")
	p.Catch(faultproxy.CutReply, scripts.Release.SHA1)
	if err := c.ReleaseID(soon(t), "job", "theirs"); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("ReleaseID: %v", err)
	}
	if value(t, s, "lock:job") != "" {
		t.Error("it is held still")
	}
}

// A lock without expiry that is detached stays until it is adopted, and can expire then.
func TestDetachNoExpiry(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{TTL: lock.NoExpiry}))
	id, err := lease.Detach(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if left := pttl(t, s, "lock:job"); left != -1 {
		t.Errorf("detached, it has %d ms left", left)
	}
	taken, err := c.Mutex("job").Adopt(soon(t), id)
	if err != nil {
		t.Fatal(err)
	}
	if left := pttl(t, s, "lock:job"); left <= 0 {
		t.Errorf("adopted, it has %d ms left", left)
	}
	unlock(t, taken)
}
