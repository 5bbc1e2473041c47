package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/faultjob"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// newFaultJob returns a holder of a lock and a waiter for it, whose TTL and Redis are given.
func newFaultJob(t *testing.T, url string, ttl time.Duration) *faultjob.Job {
	t.Helper()
	return faultjob.New(t, ttl, func(o *lock.Options) *lock.Client { return faultOpen(t, url, o) })
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
	j.GoesOn(t, s)
}

// Row 14: the server is killed and comes back empty. The holder is told at its next renewal, and
// fencing tokens go on growing.
func TestFaultServerRestartsEmpty(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := faultServer(t)
	j := newFaultJob(t, s.URL(), ttl)
	j.Renewed(t)
	s.Restart(t)
	up := time.Now()
	lost := j.Lost(t)
	t.Logf("told after %v", faultTook(t, "to be told", up, time.Now(), ttl/3+ttl/6+faultSlack))
	faultIs(t, "Lost", lost, lock.ErrLost, renewal.ErrNotOwner)
	lease, at := j.Next(t)
	faultTook(t, "the waiter", up, at, faultS+faultR)
	if lease.Fence() <= j.Lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", j.Lease.Fence(), lease.Fence())
	}
	faultIs(t, "Unlock", j.Lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
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
			j.Renewed(t)
			c.hang(t, s)
			for failed := 0; failed < 1; {
				if err := j.RenewalFailed(t); strings.Contains(err.Error(), c.why) {
					failed++
				}
			}
			c.end(t, s)
			j.GoesOn(t, s)
		})
	}
}

// Row 15: the server stops answering for more than the validity. The context ends when the lease is
// over, and not later.
func TestFaultServerHangsTooLong(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	j := newFaultJob(t, s.URL(), 1500*time.Millisecond)
	ctx, cancel := j.Lease.Context(context.Background())
	defer cancel()
	s.Stop(t)
	await(t, "the context's end", ctx.Done())
	now := time.Now()
	late := faultTook(t, "to be told after the deadline", j.Lease.Deadline(), now, faultSlack)
	t.Logf("told %v after the deadline", late)
	if now.Before(j.Lease.Deadline()) {
		t.Errorf("told %v before the deadline", j.Lease.Deadline().Sub(now))
	}
	faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired, redisconn.ErrTimeout)
	s.Continue(t)
	on := time.Now()
	lease, at := j.Next(t)
	faultTook(t, "the waiter", on, at, faultS+faultR)
	faultIs(t, "Unlock", j.Lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
	unlock(t, lease)
}
