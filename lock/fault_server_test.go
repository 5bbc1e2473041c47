package lock_test

import (
	"context"
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
	j.lease = acquire(t, faultOpen(t, url, &lock.Options{TTL: ttl, Hooks: j.holder.hooks()}).Mutex("job"))
	j.wait = faultLock(soon(t), faultOpen(t, url, &lock.Options{Hooks: j.waiter.hooks()}).Mutex("job"))
	await(t, "Waiting", j.waiter.waiting)
	return j
}

// goesOn checks that the lease has outlived the fault, and that its release wakes the waiter. What the
// server sees blocking may be a half-open connection of before the fault, which the waiter gives up S + 0.5 s
// after its last look.
func (j *faultJob) goesOn(t *testing.T, s *redistest.Server) {
	t.Helper()
	j.holder.renewedNow(t)
	if !j.lease.Valid() || len(j.holder.lost) > 0 {
		t.Fatalf("the lease is lost: %v", j.lease.Err())
	}
	faultBlocked(t, s, 1)
	unlock(t, j.lease)
	released := time.Now()
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the handover", released, at, faultS+500*time.Millisecond+faultSlack)
	unlock(t, lease)
}

// Row 13: the server is killed and comes back with its memory. Leases and waiters go on.
func TestFaultServerRestartsWithItsMemory(t *testing.T) {
	t.Parallel()
	s := faultServer(t, "appendonly yes", "appendfsync always")
	j := newFaultJob(t, s.URL(), 3*time.Second)
	down := time.Now()
	s.Restart(t)
	up := time.Now()
	faultBlocked(t, s, 1)
	took := faultTook(t, "to block again", up, time.Now(), 200*time.Millisecond+faultSlack)
	t.Logf("down for %v; the waiter blocks again after %v", up.Sub(down), took)
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
	lost := await(t, "Lost", j.holder.lost)
	t.Logf("told after %v", faultTook(t, "to be told", up, time.Now(), ttl/3+ttl/6+faultSlack))
	faultIs(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the waiter", up, at, faultS+faultR)
	if lease.Fence() <= j.lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", j.lease.Fence(), lease.Fence())
	}
	faultIs(t, "Unlock", j.lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
	if got := value(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	unlock(t, lease)
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
				if err := await(t, "a renewal fails", j.holder.failed).Err; strings.Contains(err.Error(), c.why) {
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
	await(t, "the context's end", ctx.Done())
	now := time.Now()
	late := faultTook(t, "to be told after the deadline", j.lease.Deadline(), now, faultSlack)
	t.Logf("told %v after the deadline", late)
	if now.Before(j.lease.Deadline()) {
		t.Errorf("told %v before the deadline", j.lease.Deadline().Sub(now))
	}
	faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired, redisconn.ErrTimeout)
	s.Continue(t)
	on := time.Now()
	lease, at := faultGot(t, j.wait)
	faultTook(t, "the waiter", on, at, faultS+faultR)
	faultIs(t, "Unlock", j.lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
	unlock(t, lease)
}
