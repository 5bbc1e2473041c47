package lock_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestLockAndUnlock(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	m := c.Mutex(redistest.Name(t))
	before := time.Now()
	lease, err := m.Lock(soon(t))
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	if !lease.Valid() || lease.Err() != nil || lease.Name() != m.Name() {
		t.Errorf("a new lease: Valid %v, Err %v, Name %q", lease.Valid(), lease.Err(), lease.Name())
	}
	if got := lease.Deadline().Sub(before); got < 28*time.Second || got > 30*time.Second {
		t.Errorf("Deadline after %v, want TTL - margin = 28.5 s", got)
	}
	if host, _ := os.Hostname(); !strings.HasPrefix(lease.ID(), host+":") {
		t.Errorf("ID %q does not begin with the host", lease.ID())
	}
	first := lease.Fence()
	unlock(t, lease)
	if err := lease.Err(); err != lock.ErrReleased {
		t.Errorf("Err after Unlock: %v", err)
	}
	if lease.Valid() {
		t.Error("valid after Unlock")
	}
	await(t, "Done", lease.Done())
	again := acquire(t, m)
	if again.Fence() <= first {
		t.Errorf("fencing token %d after %d", again.Fence(), first)
	}
	unlock(t, again)
}

func TestTryLockSaysWhoHolds(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	holder := open(t, s, &lock.Options{Label: "importer on b", TTL: 10 * time.Second})
	other := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, holder.Mutex(name))
	defer unlock(t, lease)

	_, err := other.Mutex(name).TryLock(soon(t))
	var held *lock.HeldError
	if !errors.As(err, &held) || !errors.Is(err, lock.ErrHeld) {
		t.Fatalf("TryLock on a held lock: %v", err)
	}
	o := held.Owner
	if o.Name != name || o.Label != "importer on b" || time.Since(o.Since) > 5*time.Second {
		t.Errorf("HeldError %+v", held)
	}
	if o.TTL <= 0 || o.TTL > 10*time.Second {
		t.Errorf("TTL left %v", o.TTL)
	}
	if o.ID != "" || strings.Contains(err.Error(), lease.ID()[len(lease.ID())-16:]) {
		t.Errorf("the error gives the id away: %v", err)
	}
}

func TestUnlockOutlivesItsContext(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	m := c.Mutex(redistest.Name(t))
	lease := acquire(t, m)
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	if err := lease.Unlock(dead); err != nil {
		t.Errorf("Unlock with a dead context: %v", err)
	}
	unlock(t, acquire(t, m))
}

func TestUnlockTwiceAndAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	m := c.Mutex(redistest.Name(t))
	lease := acquire(t, m)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { unlock(t, lease) })
	}
	all.Wait()
	next := acquire(t, m)
	unlock(t, lease) // must not touch the next one
	if _, err := m.TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a repeated Unlock released another lease: %v", err)
	}
	unlock(t, next)
}

func TestUnlockOfALostLease(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	s.Do(t, "SET", "lock:"+name, "somebody else")
	for range 2 {
		err := lease.Unlock(soon(t))
		if !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock of a lost lease: %v", err)
		}
	}
	if got := s.Do(t, "GET", "lock:"+name); string(got.([]byte)) != "somebody else" {
		t.Errorf("the other's lock is %q now", got)
	}
}

func TestUnlockOfAForeignKey(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	s.Do(t, "DEL", "lock:"+name)
	s.Do(t, "SADD", "lock:"+name, "x")
	err := lease.Unlock(soon(t))
	for _, want := range []error{lock.ErrNotHeld, lock.ErrLost, lock.ErrWrongType} {
		if !errors.Is(err, want) {
			t.Errorf("Unlock: %v, want it to be %v", err, want)
		}
	}
	if n := s.Do(t, "SCARD", "lock:"+name); n != int64(1) {
		t.Errorf("the foreign key was touched")
	}
}

func TestContextEndsWithTheLease(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	lease := acquire(t, c.Mutex(redistest.Name(t)))
	ctx, cancel := lease.Context(context.WithValue(context.Background(), key{}, "kept"))
	defer cancel()
	child, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	if ctx.Err() != nil || ctx.Value(key{}) != "kept" {
		t.Fatalf("a new context: %v, %v", ctx.Err(), ctx.Value(key{}))
	}
	unlock(t, lease)
	if cause := context.Cause(ctx); cause != lock.ErrReleased {
		t.Errorf("cause %v", cause)
	}
	await(t, "the derived context", child.Done())
	if cause := context.Cause(child); cause != lock.ErrReleased {
		t.Errorf("cause of the derived context %v", cause)
	}
	late, cancel := lease.Context(context.Background())
	defer cancel()
	if context.Cause(late) != lock.ErrReleased {
		t.Errorf("a context of an ended lease: %v", context.Cause(late))
	}
}

type key struct{}

func TestContextEndsWithItsParent(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	lease := acquire(t, c.Mutex(redistest.Name(t)))
	defer unlock(t, lease)
	parent, stop := context.WithCancelCause(context.Background())
	ctx, cancel := lease.Context(parent)
	defer cancel()
	own, cancelOwn := lease.Context(context.Background())
	why := errors.New("shutting down")
	stop(why)
	if context.Cause(ctx) != why {
		t.Errorf("cause %v, want the parent's", context.Cause(ctx))
	}
	cancelOwn()
	if own.Err() != context.Canceled || !lease.Valid() {
		t.Errorf("cancelled context: %v; the lease is valid: %v", own.Err(), lease.Valid())
	}
}

func TestManyContextsAreForgotten(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	lease := acquire(t, c.Mutex(redistest.Name(t)))
	for i := range 2000 {
		ctx, cancel := lease.Context(context.Background())
		if i%2 == 0 {
			cancel()
		}
		_ = ctx
		_ = cancel
		if i%500 == 0 {
			runtime.GC()
		}
	}
	unlock(t, lease)
}

// A lease that the program dropped is not renewed for ever.
func TestDroppedLease(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	leaked := make(chan lock.Event, 1)
	lost := make(chan lock.Event, 1)
	c := open(t, s, &lock.Options{TTL: 1500 * time.Millisecond, Hooks: lock.Hooks{
		Leaked: func(e lock.Event) { leaked <- e },
		Lost:   func(e lock.Event) { lost <- e },
	}})
	name := redistest.Name(t)
	done := func() <-chan struct{} {
		lease := acquire(t, c.Mutex(name))
		ctx, _ := lease.Context(context.Background())
		child, stop := context.WithCancel(ctx)
		stop() // else it keeps the lease
		_ = child
		return lease.Done()
	}()
	redistest.Until(t, "the collector finds it", func() bool {
		runtime.GC()
		return len(leaked) > 0
	})
	await(t, "Done", done)
	if info := await(t, "Leaked", leaked); info.Name != name {
		t.Errorf("leaked %+v", info)
	}
	if info := await(t, "Lost", lost); !errors.Is(info.Err, lock.ErrLost) {
		t.Errorf("lost %+v", info)
	}
	unlock(t, must(c.Mutex(name).Lock(soon(t)))(t)) // it expires
}

// A context keeps its lease.
func TestContextKeepsTheLease(t *testing.T) {
	t.Parallel()
	renewed := make(chan lock.Event, 100)
	c := open(t, redistest.Shared(t), &lock.Options{
		TTL:   1500 * time.Millisecond,
		Hooks: lock.Hooks{Renewed: func(e lock.Event) { renewed <- e }},
	})
	ctx, cancel := acquire(t, c.Mutex(redistest.Name(t))).Context(context.Background())
	defer cancel()
	for range 6 {
		runtime.GC()
		await(t, "a renewal", renewed)
	}
	if ctx.Err() != nil {
		t.Errorf("the lease was dropped: %v", context.Cause(ctx))
	}
	runtime.KeepAlive(ctx)
}

// A lock that turns out to be lost when it is detached is told as lost.
func TestDetachTellsOfTheLoss(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	lost := make(chan lock.Event, 1)
	c := locks.Open(t, s.URL(), &lock.Options{Hooks: lock.Hooks{Lost: func(e lock.Event) { lost <- e }}})
	lease := locks.Acquire(t, c.Mutex("job"))
	s.Do(t, "DEL", "lock:job")
	s.Do(t, "RPUSH", "lock:job", "x")
	id, err := lease.Detach(locks.Soon(t))
	if id != "" || !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrWrongType) {
		t.Errorf("Detach: %q, %v", id, err)
	}
	if i := locks.Await(t, "Lost", lost); i.Name != "job" || !errors.Is(i.Err, lock.ErrLost) {
		t.Errorf("told %+v", i)
	}
	if stats := c.Stats(); stats.Lost != 1 || stats.Held != 0 {
		t.Errorf("the stats are %+v", stats)
	}
}
