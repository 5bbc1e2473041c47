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
		"TryLock": locks.ErrOf(m.TryLock(soon(t))), "Lock": locks.ErrOf(m.Lock(soon(t))),
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
		done <- locks.ErrOf(c.MutexWith("job", &lock.MutexOptions{ID: "mine"}).Lock(soon(t)))
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
	lost := make(chan lock.Event, 2) // one for each lease: the hook must not block
	a := open(t, s, &lock.Options{Hooks: lock.Hooks{Lost: func(e lock.Event) { lost <- e }}})
	first := acquire(t, a.MutexWith("job", &lock.MutexOptions{ID: "mine", TTL: time.Minute}))
	renewed := acquire(t, a.MutexWith("other", &lock.MutexOptions{ID: "mine", TTL: 2 * time.Second}))
	s.Do(t, "DEL", "lock:job", "lock:other")
	b := open(t, s, nil)
	second := acquire(t, b.MutexWith("job", &lock.MutexOptions{ID: "mine"}))
	acquire(t, b.MutexWith("other", &lock.MutexOptions{ID: "mine"}))

	before := a.Stats().Renewals // one may be under way that was sent before the DEL, but not two
	redistest.Until(t, "the older one is told", func() bool {
		return renewed.Err() != nil || a.Stats().Renewals > before+1
	})
	if !errors.Is(renewed.Err(), lock.ErrLost) {
		t.Fatalf("the older one is renewed: %v", renewed.Err())
	}
	await(t, "the hook", lost)
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
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	calls := map[string]func(m *lock.Mutex) error{
		"TryLock": func(m *lock.Mutex) error { return locks.ErrOf(m.TryLock(soon(t))) },
		"Lock":    func(m *lock.Mutex) error { return locks.ErrOf(m.Lock(soon(t))) },
		"Adopt":   func(m *lock.Mutex) error { return locks.ErrOf(m.Adopt(soon(t), "mine")) },
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

// A holder under an id of one's own is recognised by what stands before the last #, which is no secret.
func TestGivenIDIsRecognised(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	told := make(chan lock.Event, 10)
	c := open(t, s, nil)
	other := open(t, s, &lock.Options{Hooks: lock.Hooks{Waiting: func(e lock.Event) { told <- e }}})
	lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{ID: "worker-7#9f2c61"}))
	if got := value(t, s, "lock:job"); got != "worker-7#9f2c61" || lease.ID() != got {
		t.Errorf("held under %q", got)
	}
	recognised := func(what string, o lock.Owner) {
		t.Helper()
		if o.Label != "worker-7" || !o.Since.IsZero() || o.ID != "" {
			t.Errorf("%s: %+v", what, o)
		}
	}
	_, err := other.Mutex("job").TryLock(soon(t))
	var held *lock.HeldError
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "worker-7") || strings.Contains(err.Error(), "9f2c61") {
		t.Fatalf("TryLock: %v", err)
	}
	recognised("HeldError", held.Owner)
	for o, err := range other.List(soon(t), lock.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		recognised("List", o)
	}
	wait := lockLater(t, soon(t), other, "job")
	recognised("Waiting", await(t, "Waiting", told).Owner)

	// A clean-up by label is for what holdfast has named: those ids are of one acquisition each.
	for _, f := range []lock.Filter{{Label: "worker-7"}, {Name: "job"}} {
		if reset, err := other.ResetAll(soon(t), f); err != nil || len(reset) != 0 {
			t.Errorf("ResetAll with %+v: %v, %v", f, reset, err)
		}
	}
	if value(t, s, "lock:job") != lease.ID() {
		t.Error("it was reset by its label")
	}
	if err := other.ReleaseID(soon(t), "job", "worker-7#9f2c61"); err != nil {
		t.Errorf("ReleaseID: %v", err)
	}
	r := await(t, "the waiter", wait)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	unlock(t, r.Lease)
}

// Nothing of an id is shown that is not marked.
func TestIDsWithoutALabel(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	for _, id := range []string{
		"worker-7", "ab/cdEFGH12+/ijklmnopqr9", "#secret", "secret#", "hä#secret", "a{b}#secret",
		"0b2f3c9e-6c1f-4b7e-9d5e-2b0c6a1d7f10", strings.Repeat("x", 513) + "#y",
	} {
		s.Do(t, "SET", "lock:job", id)
		o, err := c.Owner(soon(t), "job")
		if err != nil || o.Label != "" || o.ID != id {
			t.Errorf("%.40q: %+v, %v", id, o, err)
		}
		if strings.Contains(o.String(), "secret") || strings.Contains(o.String(), "worker") {
			t.Errorf("%.40q shows as %s", id, o)
		}
	}
	for id, want := range map[string]string{
		"db3:41#x": "db3:41", "a#b#c": "a#b", "a/b#c": "a/b", "worker-7#x/kept": "worker-7",
	} {
		s.Do(t, "SET", "lock:job", id)
		if o, err := c.Owner(soon(t), "job"); err != nil || o.Label != want {
			t.Errorf("%q: %+v, %v", id, o, err)
		}
	}
}

// Whoever holds the lock under the id is told so, even if others wait in this process.
func TestGivenIDBehindOthers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := locks.Open(t, s.URL(), nil)
	m := c.MutexWith("job", &lock.MutexOptions{ID: "mine"})
	lease := locks.Acquire(t, m)
	waiter := lockLater(t, locks.Soon(t), c, "job")
	redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
	if _, err := m.Lock(locks.Soon(t)); !errors.Is(err, lock.ErrAlreadyHeld) {
		t.Errorf("Lock: %v", err)
	}
	locks.Unlock(t, lease)
	locks.Unlock(t, locks.Await(t, "the waiter", waiter).Lease)
}
