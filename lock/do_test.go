package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestDo(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	failed := errors.New("the job failed")
	for _, want := range []error{nil, failed} {
		err := c.Do(soon(t), name, func(ctx context.Context) error {
			if _, err := c.Mutex(name).TryLock(ctx); !errors.Is(err, lock.ErrHeld) {
				t.Errorf("inside Do the lock is not held: %v", err)
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("Do returned %v, want %v", err, want)
		}
		if n := s.Do(t, "EXISTS", "lock:"+name); n != int64(0) {
			t.Error("the lock is held after Do")
		}
	}
}

func TestDoReportsALoss(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, &lock.Options{TTL: 300 * time.Millisecond})
	name := redistest.Name(t)
	err := c.Do(soon(t), name, func(ctx context.Context) error {
		s.Do(t, "DEL", "lock:"+name)
		await(t, "the loss", ctx.Done())
		if !errors.Is(context.Cause(ctx), lock.ErrLost) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return nil
	})
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("Do returned %v although the lock was lost", err)
	}
}

func TestDoReleasesOnPanic(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = c.Do(soon(t), name, func(context.Context) error { panic("boom") })
	}()
	unlock(t, acquire(t, c.Mutex(name)))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = c.Do(context.Background(), name, func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	}()
	await(t, "the goroutine", gone)
	unlock(t, acquire(t, c.Mutex(name)))
}

func TestDoDoesNotRunWithoutTheLock(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	defer unlock(t, lease)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := c.Do(ctx, name, func(context.Context) error {
		t.Error("fn ran")
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrHeld) {
		t.Errorf("Do: %v", err)
	}
}

// The error of a Do whose lease was lost says so once, on one line, whatever the function returns.
func TestDoSaysOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, &lock.Options{TTL: 300 * time.Millisecond})
	failed := errors.New("the job failed")
	for what, fails := range map[string]func(cause error) error{
		"nothing":         func(error) error { return nil },
		"the cause":       func(cause error) error { return cause },
		"wraps the cause": func(cause error) error { return fmt.Errorf("import: %w", cause) },
		"joins the cause": func(cause error) error { return errors.Join(failed, cause) },
		"something else":  func(error) error { return failed },
	} {
		name := redistest.Name(t)
		var cause error
		err := c.Do(soon(t), name, func(ctx context.Context) error {
			s.Do(t, "DEL", "lock:"+name)
			await(t, "the loss", ctx.Done())
			cause = context.Cause(ctx)
			return fails(cause)
		})
		if text := err.Error(); strings.Count(text, cause.Error()) != 1 || strings.Contains(text, "\n") ||
			strings.Count(text, "lost") != 1 || !errors.Is(err, lock.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
		if want := fails(nil); errors.Is(want, failed) && !errors.Is(err, failed) {
			t.Errorf("%s: %v is not what the function returned", what, err)
		}
	}
}
