package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// A hook that calls Unlock does not wait for itself, whoever noticed the loss.
func TestFaultUnlockInLostHook(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	leases, told := make(chan *lock.Lease, 1), make(chan error, 1)
	c := locks.Met(t, s.URL(), &lock.Options{
		TTL: 50 * time.Millisecond, NoRenewal: true,
		Hooks: lock.Hooks{Lost: func(lock.Event) { told <- (<-leases).Unlock(context.Background()) }},
	})
	for range 20 {
		lease := locks.Must(c.Mutex("job").Lock(locks.Soon(t)))(t)
		leases <- lease
		for lease.Valid() { // its timer and Unlock notice at the same time
		}
		_ = lease.Unlock(context.Background())
		if err := locks.Await(t, "the hook", told); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock in the hook: %v", err)
		}
	}
}

// Row 25, for many, beside an observer that takes its time: locks that are lost together end the contexts
// of all their jobs before the first Lost hook is called, which may block.
func TestFaultSlowLostHook(t *testing.T) {
	t.Parallel()
	const n = 10
	s := locks.Server(t)
	told, goOn := make(chan string, n), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	events := locks.NewEvents()
	hooks := lock.JoinHooks(events.Hooks(), lock.Hooks{Lost: func(e lock.Event) {
		told <- e.Name
		<-goOn
	}})
	c := locks.Open(t, s.URL(), &lock.Options{TTL: 1500 * time.Millisecond, Hooks: hooks})
	t.Cleanup(release) // before Close, which would wait for the hook
	var jobs []context.Context
	var keys []any
	for i := range n {
		name := fmt.Sprint("job-", i)
		ctx, cancel := locks.Acquire(t, c.Mutex(name)).Context(context.Background())
		defer cancel()
		jobs, keys = append(jobs, ctx), append(keys, "lock:"+name)
	}
	for range n {
		locks.Await(t, "a renewal", events.Renewed) // from here on they are renewed together
	}
	s.Do(t, "DEL", keys...)
	locks.Await(t, "the first Lost", told)
	for _, ctx := range jobs {
		locks.Await(t, "the end of a job", ctx.Done())
		locks.Is(t, "cause", context.Cause(ctx), lock.ErrLost)
	}
	release()
	for range n - 1 {
		locks.Await(t, "another Lost", told)
	}
}
