package lock_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// faultPeers are programs in Python that share locks with ours: the real python-redis-lock, and one
// that speaks its wire, for where that cannot be had.
var faultPeers = []struct {
	name, script string
	python       func(testing.TB) (interpreter string, env []string)
}{
	{"python-redis-lock", "interop.py", redistest.Python},
	{"the same wire", "wirepeer.py", redistest.RedisPy},
}

// faultWithPeers runs a test with each of them; start runs one in a process.
func faultWithPeers(t *testing.T, test func(t *testing.T, s *redistest.Server, start func() *faultProcess)) {
	t.Parallel()
	for _, peer := range faultPeers {
		t.Run(peer.name, func(t *testing.T) {
			t.Parallel()
			python, env := peer.python(t)
			s := faultServer(t)
			test(t, s, func() *faultProcess {
				cmd := exec.Command(python, filepath.Join("testdata", peer.script), s.URL())
				cmd.Env = env
				p := faultRun(t, cmd)
				p.tell(t, "owner nothing") // it has started, and knows the server
				p.says(t, "owner None")
				return p
			})
		})
	}
}

// Row 1, beside Python: a Python that holds is killed. A waiter of ours acquires when its key expires;
// if that does not expire, when somebody resets it.
func TestFaultPeerKilledWhileHolding(t *testing.T) {
	faultWithPeers(t, func(t *testing.T, s *redistest.Server, start func() *faultProcess) {
		python := start()
		for _, c := range []struct{ name, expire string }{{"expires", "2"}, {"stays", "-"}} {
			python.tell(t, "lock %s %s", c.name, c.expire)
			python.says(t, "locked")
		}
		client := faultMet(t, s.URL(), nil)
		expires := faultLock(soon(t), client.Mutex("expires"))
		stays := faultLock(soon(t), client.Mutex("stays"))
		python.kill()
		at := faultExpiries(t, s, []string{"expires"})[0]
		lease, got := faultGot(t, expires)
		if !at.IsZero() {
			t.Logf("acquired after the expiry: %v", faultTook(t, "the waiter", at, got, faultSlack))
			if got.Before(at.Add(-5 * time.Millisecond)) {
				t.Errorf("acquired %v before the expiry", at.Sub(got))
			}
		}
		unlock(t, lease)
		if _, held, err := client.Reset(soon(t), "stays"); !held || err != nil {
			t.Errorf("Reset: %v, %v", held, err)
		}
		reset := time.Now()
		lease, got = faultGot(t, stays)
		faultTook(t, "the handover after Reset", reset, got, faultSlack)
		unlock(t, lease)
	})
}

// Row 10, beside Python: the signal goes to a Python that is stopped or killed before it can acquire. A
// waiter of ours acquires by its own look.
func TestFaultPeerDiesWithTheSignal(t *testing.T) {
	faultWithPeers(t, func(t *testing.T, s *redistest.Server, start func() *faultProcess) {
		holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
		for _, expire := range []string{"20", "-"} {
			lease := acquire(t, holder.Mutex("job"))
			python := start()
			python.tell(t, "wait job %s", expire)
			python.says(t, "waiting")
			faultBlocked(t, s, 1)
			python.stop(t) // the first in line, and it will not answer
			wait := faultLock(soon(t), waiter.Mutex("job"))
			faultBlocked(t, s, 2)
			unlock(t, lease)
			released := time.Now()
			python.kill()
			next, at := faultGot(t, wait)
			t.Logf("free while waited for: %v", faultTook(t, "the waiter", released, at, faultS+faultR))
			unlock(t, next)
		}
	})
}

// Row 10, with a peer that is seen to have the signal: then it is killed.
func TestFaultPeerKilledAfterTheSignal(t *testing.T) {
	t.Parallel()
	python, env := redistest.RedisPy(t)
	s := faultServer(t)
	holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
	lease := acquire(t, holder.Mutex("job"))
	cmd := exec.Command(python, filepath.Join("testdata", "wirepeer.py"), s.URL())
	cmd.Env = env
	peer := faultRun(t, cmd)
	peer.tell(t, "hear job")
	peer.says(t, "hearing")
	faultBlocked(t, s, 1)
	wait := faultLock(soon(t), waiter.Mutex("job"))
	faultBlocked(t, s, 2)
	unlock(t, lease)
	released := time.Now()
	peer.says(t, "heard")
	peer.kill()
	next, at := faultGot(t, wait)
	t.Logf("free while waited for: %v", faultTook(t, "the waiter", released, at, faultS+faultSlack))
	unlock(t, next)
}

// Row 1, the other way: our process that holds is killed. A Python that waits acquires within its own
// wait, which ends with the expiry that it asks for: nobody pushes a signal. A waiter of ours that takes
// over and releases wakes it before that.
func TestFaultPeerWaitsForAKilledHolder(t *testing.T) {
	faultWithPeers(t, func(t *testing.T, s *redistest.Server, start func() *faultProcess) {
		holder := faultStart(t, s.URL())
		holder.tell(t, "lock 1s job")
		holder.says(t, "locked")
		python := start()
		python.tell(t, "wait job 20")
		python.says(t, "waiting")
		faultBlocked(t, s, 1)
		events := newFaultEvents()
		client := faultMet(t, s.URL(), &lock.Options{Hooks: events.hooks()})
		wait := faultLock(soon(t), client.Mutex("job"))
		await(t, "Waiting", events.waiting)
		holder.kill()
		lease, _ := faultGot(t, wait)
		unlock(t, lease)
		released := time.Now()
		id := python.says(t, "acquired")
		t.Logf("woken after %v", faultTook(t, "the handover", released, time.Now(), faultSlack))
		if got := value(t, s, "lock:job"); got != id {
			t.Errorf("the lock holds %q, want %q", got, id)
		}
		python.tell(t, "unlock job")
		python.says(t, "unlocked")
	})
}
