package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// A faultJob is a holder and a waiter for its lock, in two clients of one server.
type faultJob struct {
	holder, waiter *faultEvents
	lease          *lock.Lease
	wait           <-chan faultResult
}

func newFaultJob(t *testing.T, url string, ttl time.Duration) *faultJob {
	t.Helper()
	j := &faultJob{holder: newFaultEvents(), waiter: newFaultEvents()}
	j.lease = faultTake(t, faultOpen(t, url, &lock.Options{TTL: ttl, Hooks: j.holder.hooks()}).Mutex("job"))
	j.wait = faultLock(faultSoon(t), faultOpen(t, url, &lock.Options{Hooks: j.waiter.hooks()}).Mutex("job"))
	faultAwait(t, "Waiting", j.waiter.waiting)
	return j
}

// goesOn checks that the lease has outlived the fault, and that its release wakes the waiter.
func (j *faultJob) goesOn(t *testing.T, s *redistest.Server) {
	t.Helper()
	j.holder.renewedNow(t)
	if !j.lease.Valid() || len(j.holder.lost) > 0 {
		t.Fatalf("the lease is lost: %v", j.lease.Err())
	}
	faultBlocked(t, s, 1)
	faultUnlock(t, j.lease)
	released := time.Now()
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the handover", released, at, faultS+faultSlack)
	faultUnlock(t, lease)
}

// Row 13: the server is killed and comes back with its memory. Leases and waiters go on.
func TestFaultServerRestartsWithItsMemory(t *testing.T) {
	t.Parallel()
	s := faultServer(t, "appendonly yes", "appendfsync always")
	j := newFaultJob(t, s.URL(), 3*time.Second)
	down := time.Now()
	s.Restart(t)
	t.Logf("down for %v", time.Since(down))
	j.goesOn(t, s)
}

// Row 14: the server is killed and comes back empty. The holder is told at its next renewal, and
// fencing tokens go on growing.
func TestFaultServerRestartsEmpty(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := faultServer(t)
	j := newFaultJob(t, s.URL(), ttl)
	j.holder.renewedNow(t)
	s.Restart(t)
	up := time.Now()
	lost := faultAwait(t, "Lost", j.holder.lost)
	t.Logf("told after %v", faultTook(t, "to be told", up, time.Now(), ttl/3+ttl/6+faultSlack))
	faultIs(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the waiter", up, at, faultS+faultR)
	if lease.Fence() <= j.lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", j.lease.Fence(), lease.Fence())
	}
	faultIs(t, "Unlock", j.lease.Unlock(faultSoon(t)), lock.ErrNotHeld, lock.ErrLost)
	if got := faultValue(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	faultUnlock(t, lease)
}

// Row 15: the server stops answering for less than the validity. Nothing is lost.
func TestFaultServerHangs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		hang func(t *testing.T, s *redistest.Server)
		end  func(t *testing.T, s *redistest.Server)
		why  string // what the failed renewals say
	}{
		{
			"stopped",
			func(t *testing.T, s *redistest.Server) { s.Stop(t) },
			func(t *testing.T, s *redistest.Server) { s.Continue(t) },
			redisconn.ErrTimeout.Error(),
		},
		{
			"paused clients",
			func(t *testing.T, s *redistest.Server) { s.Do(t, "CLIENT", "PAUSE", 9000, "WRITE") },
			func(t *testing.T, s *redistest.Server) { s.Do(t, "CLIENT", "UNPAUSE") },
			redisconn.ErrTimeout.Error(),
		},
		{
			"busy",
			func(t *testing.T, s *redistest.Server) {
				conn := s.Dial(t)
				if err := conn.Send("EVAL", "while true do end", 0); err != nil {
					t.Fatal(err)
				}
				if err := conn.Flush(); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, s *redistest.Server) { s.Do(t, "SCRIPT", "KILL") },
			"BUSY",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t, "busy-reply-threshold 50")
			j := newFaultJob(t, s.URL(), 3*time.Second)
			j.holder.renewedNow(t)
			c.hang(t, s)
			for failed := 0; failed < 1; {
				if err := faultAwait(t, "a renewal fails", j.holder.failed).Err; strings.Contains(err.Error(), c.why) {
					failed++
				}
			}
			c.end(t, s)
			j.goesOn(t, s)
		})
	}
}

// Row 15: the server stops answering for more than the validity. The context ends when the lease is
// over, and not later.
func TestFaultServerHangsTooLong(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	j := newFaultJob(t, s.URL(), 1500*time.Millisecond)
	ctx, cancel := j.lease.Context(context.Background())
	defer cancel()
	s.Stop(t)
	faultAwait(t, "the context's end", ctx.Done())
	now := time.Now()
	faultTook(t, "to be told after the deadline", j.lease.Deadline(), now, faultSlack)
	if now.Before(j.lease.Deadline()) {
		t.Errorf("told %v before the deadline", j.lease.Deadline().Sub(now))
	}
	faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired, redisconn.ErrTimeout)
	s.Continue(t)
	on := time.Now()
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the waiter", on, at, faultS+faultR)
	faultIs(t, "Unlock", j.lease.Unlock(faultSoon(t)), lock.ErrNotHeld, lock.ErrLost)
	faultUnlock(t, lease)
}

// Row 16: states that pass. Lock waits for their end and says what they were if it does not come;
// TryLock returns them; Unlock works without memory.
func TestFaultPassingState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, setting, bad, good string
		unlocks                  bool
	}{
		{"OOM", "maxmemory", "1", "0", true},
		{"NOREPLICAS", "min-replicas-to-write", "1", "0", false},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			client := faultMet(t, s.URL(), nil)
			held := faultTake(t, client.Mutex("held"))
			s.Do(t, "CONFIG", "SET", c.setting, c.bad)

			began := time.Now()
			_, err := client.Mutex("job").TryLock(faultSoon(t))
			faultTook(t, "TryLock", began, time.Now(), faultSlack)
			faultHasCode(t, "TryLock", err, c.code)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			_, err = client.Mutex("job").Lock(ctx)
			faultIs(t, "Lock", err, context.DeadlineExceeded)
			faultHasCode(t, "Lock", err, c.code)

			wait := faultLock(faultSoon(t), client.Mutex("job"))
			err = held.Unlock(faultSoon(t))
			if c.unlocks {
				if err != nil || faultValue(t, s, "lock:held") != "" {
					t.Errorf("Unlock: %v, the lock holds %q", err, faultValue(t, s, "lock:held"))
				}
			} else {
				faultIs(t, "Unlock", err, lock.ErrUnknown)
			}
			s.Do(t, "CONFIG", "SET", c.setting, c.good)
			good := time.Now()
			lease, at := faultGot(t, wait)
			faultTook(t, "Lock", good, at, faultS+faultSlack)
			faultUnlock(t, lease)
			redistest.Until(t, "the background releases", func() bool { return faultValue(t, s, "lock:held") == "" })
		})
	}
}

// faultHasCode fails the test unless the error is this one of Redis's, and no other's.
func faultHasCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if err == nil || !redisconn.HasCode(err, code) && !strings.Contains(err.Error(), code) {
		t.Errorf("%s: %v: does not say %s", what, err, code)
	}
	if errors.Is(err, lock.ErrHeld) {
		t.Errorf("%s: %v: is ErrHeld", what, err)
	}
}

// Row 16: a cluster that does not serve a slot yet: that passes. Row 17: one in which the keys of a
// lock lie on different nodes, because its name has no tag: that does not.
func TestFaultCluster(t *testing.T) {
	t.Parallel()
	s := faultPrepared(t, redistest.StartTCP(t, "cluster-enabled yes"))
	open := func() *lock.Client { return faultOpen(t, s.URL(), nil) }
	tagged := open().Mutex("{job}")
	_, err := tagged.TryLock(faultSoon(t))
	faultHasCode(t, "TryLock", err, "CLUSTERDOWN")
	wait := faultLock(faultSoon(t), tagged)
	slots := []any{"ADDSLOTS"}
	for slot := range 16384 {
		slots = append(slots, slot)
	}
	s.Do(t, "CLUSTER", slots...)
	lease, _ := faultGot(t, wait)
	faultUnlock(t, lease)
	for name, err := range faultAtOnce(t, open, "") {
		faultHasCode(t, name, err, "CROSSSLOT")
		if !strings.Contains(err.Error(), "hash tag") {
			t.Errorf("%s: %v: does not say what to do", name, err)
		}
	}
}

// Row 18: Redis takes no more clients. That passes, at the first contact too.
func TestFaultMaxClients(t *testing.T) {
	t.Parallel()
	s := faultPrepared(t, redistest.StartTCP(t)) // who is refused on a unix socket may see EPIPE only
	admin := s.Dial(t)
	limit := func(n int) {
		if _, err := admin.Do("CONFIG", "SET", "maxclients", n); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	c := faultOpen(t, s.URL(), nil)
	began := time.Now()
	_, err := c.Mutex("job").TryLock(faultSoon(t))
	faultTook(t, "TryLock", began, time.Now(), faultSlack)
	faultHasCode(t, "TryLock", err, "max number of clients")
	wait := faultLock(faultSoon(t), c.Mutex("job"))
	limit(100)
	lease, _ := faultGot(t, wait)
	faultUnlock(t, lease)
}

// Row 16: a server that reads its data after a start.
func TestFaultLoading(t *testing.T) {
	t.Parallel()
	// With fsyncs Redis holds writes back while one is under way, and the kill would lose them.
	s := faultServer(t, "appendonly yes", "appendfsync no",
		"key-load-delay 250", "loading-process-events-interval-bytes 1024")
	c := faultMet(t, s.URL(), nil)
	conn := s.Dial(t)
	for i := range 6000 { // it looks after its clients once in a thousand
		if err := conn.Send("SET", fmt.Sprint("key-", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	wait := faultLock(faultSoon(t), c.Mutex("job"))
	tried := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for {
			lease, err := c.Mutex("other").TryLock(ctx)
			if err == nil {
				_ = lease.Unlock(ctx)
			}
			if err == nil || ctx.Err() != nil || redisconn.HasCode(err, "LOADING") {
				tried <- err
				return
			}
		}
	}()
	s.Restart(t)
	faultHasCode(t, "TryLock", faultAwait(t, "TryLock", tried), "LOADING")
	lease, _ := faultGot(t, wait)
	faultUnlock(t, lease)
}

// Row 18: the server becomes a replica. Calls say so, waiters and leases wait for its return, and
// the connection is not used again.
// Row 19: what a replica says of the owner is not believed.
// Row 20, without sentinels: a failover to a replica that has the lock. The dialler finds the new
// master, and the lease continues there.
// Row 21: to one that has not. There can be two holders until the next renewal; the older one has the
// smaller token.
// Row 24: the server forgets its scripts all the time. Nobody notices, renewals included.
// Row 26: the program has used up its own pool. Locks have their own connections.
