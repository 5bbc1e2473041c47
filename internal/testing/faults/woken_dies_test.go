package faults_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// Row 10: the process that a signal wakes is dead, or as good as. The next waiter acquires by its own
// look.
func TestFaultWokenProcessDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		after func(t *testing.T, woken *peer.Process) // when the signal has gone to it
	}{
		{"killed", func(_ *testing.T, woken *peer.Process) { woken.Kill() }},
		{"stopped", func(*testing.T, *peer.Process) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			holder, next := locks.Met(t, s.URL(), nil), locks.Met(t, p.URL(), nil)
			var gaps []time.Duration
			for range 2 {
				lease := locks.Acquire(t, holder.Mutex("job"))
				woken := peer.Start(t, s.URL())
				woken.Tell(t, "wait 20s job")
				woken.Says(t, "waiting")
				s.Blocked(t, 1)
				woken.Stop(t) // it blocks in Redis still, as the first
				blocks := blocksOn(p, "job")
				wait := locks.Later(locks.Soon(t), next.Mutex("job"))
				locks.Await(t, "the next waiter blocks", blocks.Done())
				locks.Unlock(t, lease)
				released := time.Now()
				c.after(t, woken)
				got, at := locks.Got(t, wait)
				gaps = append(gaps, locks.Took(t, "the next waiter", released, at, locks.S+locks.R))
				locks.Unlock(t, got)
				woken.Kill()
				redistest.Until(t, "Redis has seen the end", func() bool {
					return s.Clients(t, "holdfast:"+peer.Label) == 0
				})
			}
			median, most := locks.Spread(gaps)
			t.Logf("free while waited for: median %v, at most %v, n = %d", median, most, len(gaps))
		})
	}
}
