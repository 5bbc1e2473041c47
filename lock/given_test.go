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
	lost := make(chan lock.LostInfo, 2) // one for each lease: the hook must not block
	a := open(t, s, &lock.Options{Hooks: lock.Hooks{Lost: func(i lock.LostInfo) { lost <- i }}})
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
