package faults_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// pythons are programs in Python that share locks with ours: the real python-redis-lock, and one
// that speaks its wire, for where that cannot be had.
var pythons = []struct {
	name  string
	there func(testing.TB) (interpreter string, env []string) // skips the test if it is not
	start func(testing.TB, *redistest.Server) *peer.Process
}{
	{"python-redis-lock", redistest.Python, peer.Python},
	{"the same wire", redistest.RedisPy, peer.Wire},
}

// withPythons runs a test with each of them; start runs one in a process.
func withPythons(t *testing.T, test func(t *testing.T, s *redistest.Server, start func() *peer.Process)) {
	t.Parallel()
	for _, python := range pythons {
		t.Run(python.name, func(t *testing.T) {
			t.Parallel()
			python.there(t)
			s := locks.Server(t)
			test(t, s, func() *peer.Process { return python.start(t, s) })
		})
	}
}

// Row 1, beside Python: a Python that holds is killed. A waiter of ours acquires when its key expires;
// if that does not expire, when somebody resets it.
func TestFaultPeerKilledWhileHolding(t *testing.T) {
	withPythons(t, func(t *testing.T, s *redistest.Server, start func() *peer.Process) {
		python := start()
		for _, c := range []struct{ name, expire string }{{"expires", "2"}, {"stays", "-"}} {
			python.Tell(t, "lock %s %s", c.name, c.expire)
			python.Says(t, "locked")
		}
		client := locks.Met(t, s.URL(), nil)
		expires := locks.Later(locks.Soon(t), client.Mutex("expires"))
		stays := locks.Later(locks.Soon(t), client.Mutex("stays"))
		python.Kill()
		at := expiries(t, s, []string{"expires"})[0]
		lease, got := locks.Got(t, expires)
		if !at.IsZero() {
			t.Logf("acquired after the expiry: %v", locks.Took(t, "the waiter", at, got, locks.Slack))
			if got.Before(at.Add(-5 * time.Millisecond)) {
				t.Errorf("acquired %v before the expiry", at.Sub(got))
			}
		}
		locks.Unlock(t, lease)
		if _, held, err := client.Reset(locks.Soon(t), "stays"); !held || err != nil {
			t.Errorf("Reset: %v, %v", held, err)
		}
		reset := time.Now()
		lease, got = locks.Got(t, stays)
		locks.Took(t, "the handover after Reset", reset, got, locks.Slack)
		locks.Unlock(t, lease)
	})
}

// Row 10, beside Python: the signal goes to a Python that is stopped or killed before it can acquire. A
// waiter of ours acquires by its own look.
func TestFaultPeerDiesWithTheSignal(t *testing.T) {
	withPythons(t, func(t *testing.T, s *redistest.Server, start func() *peer.Process) {
		holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
		for _, expire := range []string{"20", "-"} {
			lease := locks.Acquire(t, holder.Mutex("job"))
			python := start()
			python.Tell(t, "wait job %s", expire)
			python.Says(t, "waiting")
			s.Blocked(t, 1)
			python.Stop(t) // the first in line, and it will not answer
			wait := locks.Later(locks.Soon(t), waiter.Mutex("job"))
			s.Blocked(t, 2)
			locks.Unlock(t, lease)
			released := time.Now()
			python.Kill()
			next, at := locks.Got(t, wait)
			t.Logf("free while waited for: %v", locks.Took(t, "the waiter", released, at, locks.S+locks.R))
			locks.Unlock(t, next)
		}
	})
}

// Row 10, with a peer that is seen to have the signal: then it is killed.
func TestFaultPeerKilledAfterTheSignal(t *testing.T) {
	t.Parallel()
	redistest.RedisPy(t) // before a server is started
	s := locks.Server(t)
	holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
	lease := locks.Acquire(t, holder.Mutex("job"))
	python := peer.Wire(t, s)
	python.Tell(t, "hear job")
	python.Says(t, "hearing")
	s.Blocked(t, 1)
	wait := locks.Later(locks.Soon(t), waiter.Mutex("job"))
	s.Blocked(t, 2)
	locks.Unlock(t, lease)
	released := time.Now()
	python.Says(t, "heard")
	python.Kill()
	next, at := locks.Got(t, wait)
	t.Logf("free while waited for: %v", locks.Took(t, "the waiter", released, at, locks.S+locks.Slack))
	locks.Unlock(t, next)
}

// Row 1, the other way: our process that holds is killed. A Python that waits acquires within its own
// wait, which ends with the expiry that it asks for: nobody pushes a signal. A waiter of ours that takes
// over and releases wakes it before that.
func TestFaultPeerWaitsForAKilledHolder(t *testing.T) {
	withPythons(t, func(t *testing.T, s *redistest.Server, start func() *peer.Process) {
		holder := peer.Start(t, s.URL())
		holder.Tell(t, "lock 1s job")
		holder.Says(t, "locked")
		python := start()
		python.Tell(t, "wait job 20")
		python.Says(t, "waiting")
		s.Blocked(t, 1)
		events := locks.NewEvents()
		client := locks.Met(t, s.URL(), &lock.Options{Hooks: events.Hooks()})
		wait := locks.Later(locks.Soon(t), client.Mutex("job"))
		locks.Await(t, "Waiting", events.Waiting)
		holder.Kill()
		lease, _ := locks.Got(t, wait)
		locks.Unlock(t, lease)
		released := time.Now()
		id := python.Says(t, "acquired")
		t.Logf("woken after %v", locks.Took(t, "the handover", released, time.Now(), locks.Slack))
		if got := locks.Value(t, s, "lock:job"); got != id {
			t.Errorf("the lock holds %q, want %q", got, id)
		}
		python.Tell(t, "unlock job")
		python.Says(t, "unlocked")
	})
}
