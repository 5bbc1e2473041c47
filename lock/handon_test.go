package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

func TestGivenID(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	m := c.MutexWith("job", &lock.MutexOptions{ID: "order 17"})
	lease := acquire(t, m)
	if lease.ID() != "order 17" || value(t, s, "lock:job") != "order 17" {
		t.Errorf("it is held under %q", value(t, s, "lock:job"))
	}
	for what, err := range map[string]error{
		"TryLock": errOf(m.TryLock(soon(t))), "Lock": errOf(m.Lock(soon(t))),
		"Do": m.Do(soon(t), func(context.Context) error { return nil }),
	} {
		if !errors.Is(err, lock.ErrAlreadyHeld) || errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s: %v", what, err)
		} else if strings.Contains(err.Error(), "order") {
			t.Errorf("%s gives the id away: %v", what, err)
		}
	}
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("another id: %v", err)
	}
	if !lease.Valid() {
		t.Errorf("the lease: %v", lease.Err())
	}
	unlock(t, lease)
	unlock(t, acquire(t, m))
}

// A waiter whose id gets the lock by another call is told so.
func TestGivenIDAppearsWhileWaiting(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	holder := acquire(t, c.Mutex("job"))
	done := make(chan error, 1)
	go func() {
		done <- errOf(c.MutexWith("job", &lock.MutexOptions{ID: "mine"}).Lock(soon(t)))
	}()
	blocked(t, s, 1)
	s.Do(t, "SET", "lock:job", "mine")
	s.Do(t, "LPUSH", "lock-signal:job", 1)
	if err := await(t, "the waiter", done); !errors.Is(err, lock.ErrAlreadyHeld) {
		t.Errorf("the waiter: %v", err)
	}
	_ = holder.Unlock(soon(t))
}

// Two leases of one id are told apart by their fencing tokens: the older one is told at its next
// renewal, and its Unlock does not release the lock.
func TestGivenIDTwice(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	lost := make(chan lock.LostInfo, 1)
	a := open(t, s, &lock.Options{Hooks: lock.Hooks{Lost: func(i lock.LostInfo) { lost <- i }}})
	first := acquire(t, a.MutexWith("job", &lock.MutexOptions{ID: "mine", TTL: time.Minute}))
	renewed := acquire(t, a.MutexWith("other", &lock.MutexOptions{ID: "mine", TTL: 2 * time.Second}))
	s.Do(t, "DEL", "lock:job", "lock:other")
	b := open(t, s, nil)
	second := acquire(t, b.MutexWith("job", &lock.MutexOptions{ID: "mine"}))
	acquire(t, b.MutexWith("other", &lock.MutexOptions{ID: "mine"}))

	await(t, "the loss", lost)
	if !errors.Is(renewed.Err(), lock.ErrLost) {
		t.Errorf("the older one: %v", renewed.Err())
	}
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the older one: %v", err)
	}
	if value(t, s, "lock:job") != "mine" {
		t.Error("it released the lock")
	}
	unlock(t, second)
}

// An acquire under a given id whose outcome is not known is neither repeated nor cleaned up.
func TestGivenIDUnknown(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	calls := map[string]func(m *lock.Mutex) error{
		"TryLock": func(m *lock.Mutex) error { return errOf(m.TryLock(soon(t))) },
		"Lock":    func(m *lock.Mutex) error { return errOf(m.Lock(soon(t))) },
		"Adopt":   func(m *lock.Mutex) error { return errOf(m.Adopt(soon(t), "mine")) },
	}
	for what, call := range calls {
		p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
		s.Do(t, "FLUSHALL")
		if what == "Adopt" {
			s.Do(t, "SET", "lock:job", "mine")
		}
		before := s.CommandCounts(t)["evalsha"]
		err := call(c.MutexWith("job", &lock.MutexOptions{ID: "mine", KeepID: true}))
		if !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
		if n := s.CommandCounts(t)["evalsha"] - before; n != 1 {
			t.Errorf("%s sent %d scripts", what, n)
		}
		if value(t, s, "lock:job") != "mine" {
			t.Errorf("%s cleaned up", what)
		}
	}
}

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
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
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
func TestDetachUnknown(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	lease := faultTake(t, c.Mutex("job"))
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
	if next.err != nil {
		t.Fatal(next.err)
	}
	if err := c.ReleaseID(soon(t), "job", lease.ID()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("ReleaseID again: %v", err)
	}
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock: %v", err)
	}
	unlock(t, next.lease)
}

// A release whose reply is lost may have been ours.
func TestReleaseIDUnknown(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
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

func TestStats(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: 2 * time.Second})
	if got := c.Stats(); got != (lock.Stats{}) {
		t.Errorf("at first: %+v", got)
	}
	lease := acquire(t, c.Mutex("a"))
	gone := acquire(t, c.Mutex("b"))
	waiter := lockLater(t, soon(t), c, "a")
	blocked(t, s, 1)
	got := c.Stats()
	if got.Held != 2 || got.Acquired != 2 || got.Waiting != 1 || got.Lost != 0 || got.Connections < 2 {
		t.Errorf("held and waited for: %+v", got)
	}
	redistest.Until(t, "both are renewed", func() bool { return c.Stats().Renewals >= 2 })
	s.Do(t, "DEL", "lock:b")
	<-gone.Done()
	unlock(t, lease)
	next := await(t, "the waiter", waiter)
	redistest.Until(t, "the loss is counted", func() bool { return c.Stats().Lost == 1 })
	got = c.Stats()
	if got.Held != 1 || got.Acquired != 3 || got.Waiting != 0 || got.Handovers != 1 {
		t.Errorf("handed over: %+v", got)
	}
	unlock(t, next.lease)
	_ = c.Close()
	got = c.Stats()
	if got.Held != 0 || got.Acquired != 3 || got.Lost != 1 || got.Connections != 0 {
		t.Errorf("closed: %+v", got)
	}
}

func TestStatsCountRetries(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	lease := faultTake(t, c.Mutex("job"))
	if got := c.Stats(); got.Retries != 1 || got.Acquired != 1 {
		t.Errorf("after a repeat: %+v", got)
	}
	unlock(t, lease)
}
