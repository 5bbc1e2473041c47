package faults_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 47: whoever keeps nothing of a lease's context but what waits for its end is told, whatever the
// garbage collector does, and whether or not the lease is kept.
func TestFaultToldAfterGC(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	c := locks.Met(t, s.URL(), &lock.Options{TTL: 500 * time.Millisecond})
	for what, wait := range map[string]func(*lock.Lease) <-chan struct{}{
		"Done": func(l *lock.Lease) <-chan struct{} {
			ctx, _ := l.Context(context.Background())
			return ctx.Done()
		},
		"Done under a parent that can end": func(l *lock.Lease) <-chan struct{} {
			ctx, _ := l.Context(t.Context())
			return ctx.Done()
		},
		"AfterFunc": func(l *lock.Lease) <-chan struct{} {
			ctx, _ := l.Context(context.Background())
			told := make(chan struct{})
			context.AfterFunc(ctx, func() { close(told) })
			return told
		},
	} {
		for _, kept := range []bool{true, false} {
			s.Do(t, "FLUSHALL")
			var leases []*lock.Lease
			var told []<-chan struct{}
			for i := range 20 {
				lease := locks.Must(c.Mutex("job " + string(rune('a'+i))).TryLock(locks.Soon(t)))(t)
				told = append(told, wait(lease))
				if kept {
					leases = append(leases, lease)
				}
			}
			runtime.GC()
			runtime.GC()
			s.Do(t, "FLUSHALL")
			n := 0
			for deadline := time.After(time.Second); n < len(told); n++ {
				select {
				case <-told[n]:
					continue
				case <-deadline:
				}
				break
			}
			if n < len(told) {
				t.Errorf("%s, the lease kept %v: told %d of %d", what, kept, n, len(told))
			}
			runtime.KeepAlive(leases)
		}
	}
}
