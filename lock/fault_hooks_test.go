package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Row 25, for many, beside an observer that takes its time: locks that are lost together end the contexts
// of all their jobs before the first Lost hook is called, which may block.
func TestFaultSlowLostHook(t *testing.T) {
	t.Parallel()
	const n = 10
	s := faultServer(t)
	told, goOn := make(chan string, n), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	events := newFaultEvents()
	hooks := lock.JoinHooks(events.hooks(), lock.Hooks{Lost: func(i lock.LostInfo) {
		told <- i.Name
		<-goOn
	}})
	c := faultOpen(t, s.URL(), &lock.Options{TTL: 1500 * time.Millisecond, Hooks: hooks})
	t.Cleanup(release) // before Close, which would wait for the hook
	var jobs []context.Context
	var keys []any
	for i := range n {
		name := fmt.Sprint("job-", i)
		ctx, cancel := acquire(t, c.Mutex(name)).Context(context.Background())
		defer cancel()
		jobs, keys = append(jobs, ctx), append(keys, "lock:"+name)
	}
	for range n {
		await(t, "a renewal", events.renewed) // from here on they are renewed together
	}
	s.Do(t, "DEL", keys...)
	await(t, "the first Lost", told)
	for _, ctx := range jobs {
		await(t, "the end of a job", ctx.Done())
		faultIs(t, "cause", context.Cause(ctx), lock.ErrLost)
	}
	release()
	for range n - 1 {
		await(t, "another Lost", told)
	}
}
