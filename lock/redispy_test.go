package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// redisPy returns a server, a client of ours whose locks are bare names, and redis-py's own Lock in a
// process that does what it is told.
func redisPy(t *testing.T) (*redistest.Server, *lock.Client, *peer.Process) {
	t.Helper()
	t.Parallel()
	redistest.RedisPy(t) // before a server is started
	s := locks.Server(t)
	return s, locks.Met(t, s.URL(), &lock.Options{KeyFormat: "%s"}), peer.RedisPy(t, s)
}

// redis-py holds: Go sees it, waits, and finds the lock free by looking, for no signal is pushed.
func TestRedisPyHolds(t *testing.T) {
	s, c, python := redisPy(t)
	python.Tell(t, "lock job 60")
	token := python.Says(t, "locked")
	var held *lock.HeldError
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.As(err, &held) || held.Owner.TTL <= 0 {
		t.Fatalf("TryLock: %v", err)
	}
	if o, err := c.Owner(soon(t), "job"); err != nil || o.ID != token || o.Label != "" {
		t.Errorf("Owner: %+v, %v", o, err)
	}
	wait := locks.Later(soon(t), c.Mutex("job"))
	s.Blocked(t, 1)
	released := time.Now()
	python.Tell(t, "unlock job")
	python.Says(t, "unlocked")
	lease, at := locks.Got(t, wait)
	t.Logf("found free after %v", locks.Took(t, "the handover", released, at, locks.S+locks.Slack))
	unlock(t, lease)
}

// Go holds: redis-py does not get the lock, waits, and gets it after the release.
func TestRedisPyWaits(t *testing.T) {
	s, c, python := redisPy(t)
	lease := acquire(t, c.Mutex("job"))
	python.Tell(t, "lock job 60")
	python.Says(t, "taken")
	python.Tell(t, "wait job 60")
	python.Says(t, "waiting")
	if err := lease.Renew(soon(t)); err != nil {
		t.Errorf("Renew: %v", err)
	}
	unlock(t, lease)
	token := python.Says(t, "acquired")
	if got := value(t, s, "job"); got != token {
		t.Errorf("the lock holds %q, want %q", got, token)
	}
	// Taking it by force ends redis-py's lock, and its release does not end ours.
	mine, err := c.Mutex("job").Seize(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	python.Tell(t, "owned job")
	if got := python.Says(t, "owned"); got != "False" {
		t.Errorf("redis-py says that it owns it: %s", got)
	}
	python.Tell(t, "unlock job")
	python.Says(t, "not held")
	if err := mine.Verify(soon(t)); err != nil {
		t.Errorf("Check: %v", err)
	}
	unlock(t, mine)
}
