package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// The locks of one name in two formats neither exclude nor disturb each other.
func TestTwoFormatsOfOneName(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		clients := []*lock.Client{
			at.open(nil), at.open(&lock.Options{KeyFormat: "%s"}), at.open(&lock.Options{KeyFormat: "app|lock:%s"}),
		}
		last := make([]int64, len(clients))
		for range 3 {
			var leases []*lock.Lease
			for i, c := range clients {
				lease := acquire(t, c.Mutex("job"))
				if lease.Fence() <= last[i] {
					t.Errorf("number %d: token %d after %d", i, lease.Fence(), last[i])
				}
				last[i] = lease.Fence()
				leases = append(leases, lease)
			}
			for i, lease := range leases {
				if err := lease.Verify(soon(t)); err != nil {
					t.Errorf("number %d: %v", i, err)
				}
				unlock(t, lease)
			}
		}
	})
}

// formatWaits is a lock that is handed over between two clients, with a waiter of its own.
type formatWaits struct {
	holder, waiter *lock.Client
	lease          *lock.Lease
}

// handOver lets the waiter have the lock, and returns how long that took.
func (w *formatWaits) handOver(t *testing.T, got <-chan result) time.Duration {
	t.Helper()
	released := time.Now()
	unlock(t, w.lease)
	r := await(t, "the lock", got)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	w.lease, w.holder, w.waiter = r.Lease, w.waiter, w.holder
	return time.Since(released)
}

// handovers hands the lock of one name over in two formats in turn, while a waiter of each waits.
func handovers(t *testing.T, open func(*lock.Options) *lock.Client, rounds int, waiting func()) (
	slowest time.Duration, looked int,
) {
	t.Helper()
	all := []*formatWaits{}
	for _, o := range []*lock.Options{{NoFence: true}, {NoFence: true, KeyFormat: "%s"}} {
		w := &formatWaits{holder: open(o), waiter: open(o)}
		w.lease = acquire(t, w.holder.Mutex("job"))
		all = append(all, w)
	}
	got := make([]<-chan result, len(all))
	for n := range rounds {
		for i, w := range all {
			if got[i] == nil {
				got[i] = lockLater(t, soon(t), w.waiter, "job")
			}
		}
		waiting()
		took := all[n%2].handOver(t, got[n%2])
		got[n%2] = nil
		slowest = max(slowest, took)
		if took > 100*time.Millisecond {
			looked++
		}
	}
	for i, w := range all {
		if got[i] != nil {
			_ = w.handOver(t, got[i])
		}
		unlock(t, w.lease)
	}
	return slowest, looked
}

// Each waiter is woken by its own lock's release, at once: those of a bubble take no time.
func TestTwoFormatsWaitFor(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		slowest, looked := handovers(t, func(o *lock.Options) *lock.Client { return open(t, s, o) }, 12,
			func() { blocked(t, s, 2) })
		t.Logf("%d of 12 handovers took a look, the slowest %v", looked, slowest)
		locks.Took(t, "a handover", time.Now().Add(-slowest), time.Now(), locks.S+locks.Slack)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := locktest.Start(t)
			slowest, looked := handovers(t, func(o *lock.Options) *lock.Client { return s.Client(t, o) }, 200,
				synctest.Wait)
			t.Logf("%d of 200 handovers took a look, the slowest %v", looked, slowest)
			if slowest > 0 {
				t.Errorf("the slowest of 200 handovers took %v", slowest)
			}
		})
	})
}
