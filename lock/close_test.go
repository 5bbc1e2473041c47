package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := open(t, s, nil)
	c := open(t, s, &lock.Options{Label: "closing", TTL: time.Second, Margin: 300 * time.Millisecond})
	var waiters []<-chan result
	foreign := acquire(t, holder.Mutex("foreign"))
	for range 5 {
		waiters = append(waiters, lockLater(t, context.Background(), c, "foreign"))
	}
	blocked(t, s, 1)
	lease := acquire(t, c.Mutex("own"))
	ctx, cancel := lease.Context(context.Background())
	defer cancel()

	began := time.Now()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.Close()
	}()
	for _, w := range waiters {
		if r := await(t, "a waiter", w); !errors.Is(r.Err, lock.ErrClosed) {
			t.Errorf("a waiter got %v, %v", r.Lease, r.Err)
		}
	}
	await(t, "the lease's end", ctx.Done())
	if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) || !errors.Is(cause, lock.ErrClosed) {
		t.Errorf("cause %v", cause)
	}
	if _, err := holder.Mutex("own").TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("the lock was given up before its margin was over: %v", err)
	}
	await(t, "Close", closed)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("Close took %v, less than the margin", took)
	}
	unlock(t, acquire(t, holder.Mutex("own")))
	if n := s.Clients(t, "holdfast:closing"); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	for what, err := range map[string]error{
		"TryLock":  locks.ErrOf(c.Mutex("x").TryLock(soon(t))),
		"Lock":     locks.ErrOf(c.Mutex("x").Lock(soon(t))),
		"Do":       c.Do(soon(t), "x", func(context.Context) error { return nil }),
		"Owner":    locks.ErrOf(c.Owner(soon(t), "x")),
		"ResetAll": locks.ErrOf(c.ResetAll(soon(t), lock.Filter{All: true})),
	} {
		if !errors.Is(err, lock.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrClosed) {
		t.Errorf("Unlock after Close: %v", err)
	}
	if err := lease.Extend(soon(t), time.Minute); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("Extend after Close: %v", err)
	}
	unlock(t, foreign)
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCloseReleasesManyLeases(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: time.Second})
	var leases []*lock.Lease // a lease that is dropped is not released, but left to expire
	for i := range 1500 {
		leases = append(leases, acquire(t, c.Mutex(fmt.Sprint(i))))
	}
	_ = c.Close()
	runtime.KeepAlive(leases)
	if left := s.Keys(t, "lock:*"); len(left) != 0 {
		t.Errorf("%d locks are held after Close", len(left))
	}
}

func TestKeepOnClose(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	name := redistest.Name(t)
	c := open(t, s, &lock.Options{KeepOnClose: true})
	lease := acquire(t, c.Mutex(name))
	_ = c.Close()
	if lease.Valid() {
		t.Error("valid after Close")
	}
	if left := s.Do(t, "PTTL", "lock:"+name).(int64); left <= 0 {
		t.Errorf("the key has %d ms left, want it to expire in time", left)
	}
}

func TestCloseBesideDo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: time.Second, Margin: 500 * time.Millisecond})
	done := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		done <- c.Do(context.Background(), "job", func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return nil
		})
	}()
	await(t, "the function", began)
	_ = c.Close()
	if err := await(t, "Do", done); !errors.Is(err, lock.ErrClosed) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Do: %v", err)
	}
	if keys := s.Keys(t, "lock:*"); len(keys) != 0 {
		t.Errorf("%q is held though its function returned in time", keys)
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: 1500 * time.Millisecond})
	began, goOn := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- c.Do(context.Background(), "job", func(ctx context.Context) error {
			close(began)
			<-goOn
			return ctx.Err() // renewed all the while
		})
	}()
	await(t, "the function", began)
	down := make(chan error, 1)
	go func() { down <- c.Shutdown(soon(t)) }()
	redistest.Until(t, "calls are refused", func() bool {
		_, err := c.Owner(soon(t), "job")
		return errors.Is(err, lock.ErrClosed)
	})
	<-time.After(3 * time.Second) // two TTLs
	close(goOn)
	if err := await(t, "Do", done); err != nil {
		t.Errorf("Do: %v", err)
	}
	if err := await(t, "Shutdown", down); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestShutdownLosesPatience(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Start(t), &lock.Options{TTL: 3 * time.Second})
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- c.Do(context.Background(), "job", func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return nil
		})
	}()
	await(t, "the function", began)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := c.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := await(t, "Do", done); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("Do: %v", err)
	}
}

// What is acquired while the client is closed is released, too.
func TestCloseWhileAcquiring(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for round := range 60 {
		c := locks.Open(t, s.URL(), &lock.Options{Margin: 10 * time.Millisecond})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := 0; ; n++ {
					_, err := c.Mutex(fmt.Sprintf("job-%d-%d-%d", round, i, n)).TryLock(context.Background())
					if errors.Is(err, lock.ErrClosed) {
						return
					}
				}
			})
		}
		redistest.Until(t, "some are held", func() bool { return c.Stats().Held > 20 })
		_ = c.Close()
		all.Wait()
		if left := s.Keys(t, "lock:*"); len(left) != 0 {
			t.Fatalf("round %d: %d locks are left, such as %q", round, len(left), left[0])
		}
	}
}
