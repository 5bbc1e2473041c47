package lock_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// A faultWatched is a master with a replica, watched by three Sentinels, all of them processes.
type faultWatched struct {
	master, replica *redistest.Server
	sentinels       *redistest.Sentinels
}

func newFaultWatched(t *testing.T) *faultWatched {
	t.Helper()
	w := &faultWatched{
		master:  redistest.StartTCP(t, "repl-diskless-sync-delay 0"), // gone at the end
		replica: faultPrepared(t, redistest.StartTCP(t)),
	}
	w.sentinels = redistest.StartSentinels(t, 3, w.master, w.replica)
	return w
}

// open returns a client whose pool asks the Sentinels where the master is.
func (w *faultWatched) open(t *testing.T, ttl time.Duration) (*lock.Client, *faultEvents) {
	t.Helper()
	events := newFaultEvents()
	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return w.sentinels.Dial() }}
	c, err := lock.New(pool, &lock.Options{TTL: ttl, Hooks: events.hooks()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, events
}

// cutOff stops the replica, and has the master forget its connection. For half a second the Sentinels
// do not mind.
func (w *faultWatched) cutOff(t *testing.T) {
	t.Helper()
	stat := fmt.Sprintf("/proc/%d/stat", w.replica.Pid(t))
	if _, err := os.Stat(stat); err != nil {
		redistest.Skip(t, "no way to see that a process has stopped: "+err.Error())
	}
	w.replica.Stop(t)
	redistest.Until(t, "the replica has stopped", func() bool {
		state, err := os.ReadFile(stat)
		return err == nil && strings.Contains(string(state), ") T ")
	})
	w.master.Do(t, "CLIENT", "KILL", "TYPE", "replica")
}

// failedOver waits until the replica is the master, and returns how long that took.
func (w *faultWatched) failedOver(t *testing.T, killed time.Time) time.Duration {
	t.Helper()
	redistest.Within(t, 30*time.Second, "the Sentinels name the new master", func() bool {
		addr, err := w.sentinels.Master()
		return err == nil && addr == w.replica.Addr()
	})
	return time.Since(killed)
}

// Row 20: the master is killed, and the Sentinels put a replica that has the lock in its place. The
// lease continues there, and its release wakes who waits.
func TestFaultSentinelReplicated(t *testing.T) {
	t.Parallel()
	w := newFaultWatched(t)
	holder, events := w.open(t, 12*time.Second)
	waiter, waiting := w.open(t, 0)
	lease := acquire(t, holder.Mutex("job"))
	wait := faultLock(soon(t), waiter.Mutex("job"))
	await(t, "Waiting", waiting.waiting)
	redistest.Until(t, "the replica has the lock", func() bool {
		return value(t, w.replica, "lock:job") == lease.ID()
	})
	valid := time.Until(lease.Deadline())
	began := time.Now()
	w.master.Kill(t)
	took := w.failedOver(t, began)
	t.Logf("the failover took %v, the lease was valid for %v", took, valid)
	if took > valid {
		redistest.Skip(t, "the failover took longer than the lease is valid: this machine is too slow")
	}
	events.renewedNow(t)
	if !lease.Valid() || len(events.lost) > 0 {
		t.Fatalf("the lease is lost: %v", lease.Err())
	}
	if got := value(t, w.replica, "lock:job"); got != lease.ID() {
		t.Errorf("the new master holds %q, want %q", got, lease.ID())
	}
	unlock(t, lease)
	released := time.Now()
	next, at := faultGot(t, wait)
	t.Logf("handed over after %v", faultTook(t, "the handover", released, at, faultS+faultR+faultSlack))
	if next.Fence() <= lease.Fence() {
		t.Errorf("fences: %d, after the failover %d", lease.Fence(), next.Fence())
	}
	unlock(t, next)
}

// Row 21: the master is killed before the replica has heard of the lock. Then there can be two holders,
// which no lock in one Redis can help: the older one is told when it asks the new master, and the
// tokens say which is which.
func TestFaultSentinelNotReplicated(t *testing.T) {
	t.Parallel()
	w := newFaultWatched(t)
	// It asks after 10 s; on a machine on which the failover takes longer there is no window.
	first, events := w.open(t, 30*time.Second)
	second, _ := w.open(t, 30*time.Second)
	unlock(t, acquire(t, first.Mutex("before"))) // it is connected
	w.cutOff(t)
	older := acquire(t, first.Mutex("job"))
	began := time.Now()
	w.master.Kill(t)
	w.replica.Continue(t)
	took := w.failedOver(t, began)
	if got := value(t, w.replica, "lock:job"); got != "" {
		t.Fatalf("the replica has the lock %q: this tests nothing", got)
	}
	newer, at := faultGot(t, faultLock(soon(t), second.Mutex("job")))
	t.Logf("the failover took %v", took)
	if at.Sub(began) < 8*time.Second && !older.Valid() {
		t.Errorf("the older lease had ended %v after the kill, before it asked: %v", at.Sub(began), older.Err())
	}
	t.Logf("two holders %v after the kill: %v", at.Sub(began), older.Valid() && newer.Valid())
	if newer.Fence() <= older.Fence() {
		t.Errorf("fences: the older one %d, the newer one %d", older.Fence(), newer.Fence())
	}
	// The older one asks, and is told; it takes nothing from the newer one.
	faultIs(t, "Check", older.Check(soon(t)), lock.ErrLost)
	faultIs(t, "Lost", await(t, "Lost", events.lost).Err, lock.ErrLost, renewal.ErrNotOwner)
	faultIs(t, "Unlock", older.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
	if err := newer.Check(soon(t)); err != nil {
		t.Errorf("the newer one: %v", err)
	}
	unlock(t, newer)
}
