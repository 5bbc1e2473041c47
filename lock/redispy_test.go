package lock_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// redisPy returns a server, a client of ours whose locks are bare names, and redis-py's own Lock in a
// process that does what it is told.
func redisPy(t *testing.T) (*redistest.Server, *lock.Client, *faultProcess) {
	t.Helper()
	t.Parallel()
	python, env := redistest.RedisPy(t)
	s := faultServer(t)
	cmd := exec.Command(python, filepath.Join("testdata", "redispy.py"), s.URL())
	cmd.Env = env
	return s, faultMet(t, s.URL(), &lock.Options{KeyFormat: "%s"}), faultRun(t, cmd)
}

// redis-py holds: Go sees it, waits, and finds the lock free by looking, for no signal is pushed.
func TestRedisPyHolds(t *testing.T) {
	s, c, python := redisPy(t)
	python.tell(t, "lock job 60")
	token := python.says(t, "locked")
	var held *lock.HeldError
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.As(err, &held) || held.TTL <= 0 {
		t.Fatalf("TryLock: %v", err)
	}
	if o, err := c.Owner(soon(t), "job"); err != nil || o.ID != token || o.Label != "" {
		t.Errorf("Owner: %+v, %v", o, err)
	}
	wait := faultLock(soon(t), c.Mutex("job"))
	faultBlocked(t, s, 1)
	released := time.Now()
	python.tell(t, "unlock job")
	python.says(t, "unlocked")
	lease, at := faultGot(t, wait)
	t.Logf("found free after %v", faultTook(t, "the handover", released, at, faultS+faultSlack))
	unlock(t, lease)
}

// Go holds: redis-py does not get the lock, waits, and gets it after the release.
func TestRedisPyWaits(t *testing.T) {
	s, c, python := redisPy(t)
	lease := acquire(t, c.Mutex("job"))
	python.tell(t, "lock job 60")
	python.says(t, "taken")
	python.tell(t, "wait job 60")
	python.says(t, "waiting")
	if err := lease.Renew(soon(t)); err != nil {
		t.Errorf("Renew: %v", err)
	}
	unlock(t, lease)
	token := python.says(t, "acquired")
	if got := value(t, s, "job"); got != token {
		t.Errorf("the lock holds %q, want %q", got, token)
	}
	// Taking it by force ends redis-py's lock, and its release does not end ours.
	mine, err := c.Mutex("job").Seize(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	python.tell(t, "owned job")
	if got := python.says(t, "owned"); got != "False" {
		t.Errorf("redis-py says that it owns it: %s", got)
	}
	python.tell(t, "unlock job")
	python.says(t, "not held")
	if err := mine.Check(soon(t)); err != nil {
		t.Errorf("Check: %v", err)
	}
	unlock(t, mine)
}
