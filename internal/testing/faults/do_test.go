package faults_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Do returns at once when its lease was lost and Redis hangs, and the lock is released when it goes on.
func TestFaultDoReturnsAfterALoss(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{TTL: time.Second})
	var lost time.Time
	err := c.Mutex("job").Do(locks.Soon(t), func(ctx context.Context) error {
		p.Partition("")
		locks.Await(t, "the loss", ctx.Done())
		lost = time.Now()
		return context.Cause(ctx)
	})
	locks.Is(t, "Do", err, lock.ErrLost)
	t.Logf("Do returned %v after the loss", locks.Took(t, "Do", lost, time.Now(), 100*time.Millisecond))
	s.Do(t, "SET", "lock:job", s.Do(t, "GET", "lock:job"), "PX", 60_000) // it would be there still
	p.Heal()
	redistest.Until(t, "the release", func() bool { return s.Do(t, "EXISTS", "lock:job") == int64(0) })
}

// Row 32: the function that Do runs panics, or ends its goroutine. The lock is free, and who waits has it
// after one handover.
func TestFaultPanics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  func(do func())
	}{
		{"panic", func(do func()) {
			defer func() {
				if got := recover(); got != "bad" {
					t.Errorf("recovered %v", got)
				}
			}()
			do()
		}},
		{"goexit", func(do func()) {
			var gone sync.WaitGroup
			gone.Go(do)
			gone.Wait()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
			var wait <-chan locks.Result
			c.run(func() {
				_ = holder.Do(locks.Soon(t), "job", func(context.Context) error {
					wait = locks.Later(locks.Soon(t), waiter.Mutex("job"))
					s.Blocked(t, 1)
					if c.name == "goexit" {
						runtime.Goexit()
					}
					panic("bad")
				})
			})
			ended := time.Now()
			lease, at := locks.Got(t, wait)
			t.Logf("handed over after %v", locks.Took(t, "the handover", ended, at, locks.Slack))
			locks.Unlock(t, lease)
		})
	}
}
