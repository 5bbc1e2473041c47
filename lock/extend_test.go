package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestExtend(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	defer unlock(t, lease)
	steps := []struct {
		ttl     time.Duration
		keyLeft time.Duration // what the key has left at least
	}{
		{time.Minute, 59 * time.Second},
		{10 * time.Second, 50 * time.Second}, // never shorter in Redis
		{2 * time.Minute, 119 * time.Second},
	}
	for _, step := range steps {
		before := time.Now()
		if err := lease.Extend(soon(t), step.ttl); err != nil {
			t.Fatalf("Extend(%v): %v", step.ttl, err)
		}
		margin := step.ttl / 20
		until := lease.Deadline().Sub(before)
		if until < step.ttl-margin || until > step.ttl-margin+5*time.Second {
			t.Errorf("after Extend(%v) the lease ends in %v", step.ttl, until)
		}
		left := time.Duration(s.Do(t, "PTTL", "lock:"+name).(int64)) * time.Millisecond
		if left < step.keyLeft {
			t.Errorf("after Extend(%v) the key has %v left", step.ttl, left)
		}
	}
}

func TestExtendOfALostLease(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	s.Do(t, "DEL", "lock:"+name)
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	for range 2 {
		if err := lease.Extend(soon(t), time.Minute); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Extend: %v", err)
		}
	}
	if !errors.Is(lease.Err(), lock.ErrLost) || !errors.Is(context.Cause(ctx), lock.ErrLost) {
		t.Errorf("Err %v, cause %v", lease.Err(), context.Cause(ctx))
	}
	if n := s.Do(t, "EXISTS", "lock:"+name); n != int64(0) {
		t.Error("Extend took the lost lock again")
	}
	released := acquire(t, c.Mutex(name))
	unlock(t, released)
	if err := released.Extend(soon(t), time.Minute); err != lock.ErrReleased {
		t.Errorf("Extend after Unlock: %v", err)
	}
}

func TestExtendSetsAStrangeTTLRight(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, &lock.Options{NoRenewal: true})
	for _, strange := range []string{"PEXPIRE", "PERSIST"} {
		name := redistest.Name(t)
		lease := acquire(t, c.Mutex(name))
		if strange == "PEXPIRE" {
			s.Do(t, "PEXPIRE", "lock:"+name, 3_600_000)
		} else {
			s.Do(t, "PERSIST", "lock:"+name)
		}
		for range 2 {
			if err := lease.Extend(soon(t), 20*time.Second); err != nil {
				t.Fatalf("Extend: %v", err)
			}
		}
		if left := s.Do(t, "PTTL", "lock:"+name).(int64); left < 15_000 || left > 30_000 {
			t.Errorf("%s: the key has %d ms left", strange, left)
		}
		unlock(t, lease)
	}
}

func TestNoRenewalEndsInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	m := c.MutexWith(name, &lock.MutexOptions{
		TTL: 400 * time.Millisecond, Margin: 200 * time.Millisecond, NoRenewal: true,
	})
	lease := acquire(t, m)
	await(t, "the end", lease.Done())
	if n := s.Do(t, "EXISTS", "lock:"+name); n != int64(1) {
		t.Error("the lease outlived its key")
	}
	if lease.Valid() || !errors.Is(lease.Err(), lock.ErrLost) {
		t.Errorf("Valid %v, Err %v", lease.Valid(), lease.Err())
	}
	err := lease.Unlock(soon(t))
	if !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock after the end: %v", err)
	}
	if n := s.Do(t, "EXISTS", "lock:"+name); n != int64(0) {
		t.Error("Unlock after the end left the key")
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	renewed := make(chan lock.Event, 100)
	c := open(t, redistest.Shared(t), &lock.Options{
		TTL:   1500 * time.Millisecond,
		Hooks: lock.Hooks{Renewed: func(e lock.Event) { renewed <- e }},
	})
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	until := lease.Deadline()
	for range 7 { // more than two TTLs
		info := await(t, "a renewal", renewed)
		if info.Name != name || !info.Until.After(until) {
			t.Errorf("renewed %+v after %v", info, until)
		}
		until = info.Until
	}
	if !lease.Valid() {
		t.Errorf("lost: %v", lease.Err())
	}
	unlock(t, lease)
}

func TestRenewalLearnsOfALoss(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	told := make(chan lock.Event, 1)
	c := open(t, s, &lock.Options{
		TTL:   900 * time.Millisecond,
		Hooks: lock.Hooks{Lost: func(e lock.Event) { told <- e }},
	})
	other := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	if _, _, err := other.Reset(soon(t), name); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	next := acquire(t, other.Mutex(name))
	await(t, "the loss", ctx.Done())
	err := context.Cause(ctx)
	if !errors.Is(err, lock.ErrLost) || !strings.Contains(err.Error(), next.ID()[:5]) {
		t.Errorf("cause %v, want one that names the new owner", err)
	}
	if strings.Contains(err.Error(), next.ID()) {
		t.Errorf("cause %v gives the id away", err)
	}
	if info := await(t, "the hook", told); info.Name != name || info.Err.Error() != err.Error() {
		t.Errorf("hook told %+v", info)
	}
	if next.Fence() <= lease.Fence() {
		t.Errorf("tokens %d, then %d", lease.Fence(), next.Fence())
	}
	unlock(t, next)
}
