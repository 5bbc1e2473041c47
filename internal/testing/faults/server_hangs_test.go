package faults_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

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
			wire.ErrTimeout.Error(),
		},
		{
			"paused clients",
			func(t *testing.T, s *redistest.Server) { s.Do(t, "CLIENT", "PAUSE", 9000, "WRITE") },
			func(t *testing.T, s *redistest.Server) { s.Do(t, "CLIENT", "UNPAUSE") },
			wire.ErrTimeout.Error(),
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
			s := locks.Server(t, "busy-reply-threshold 50")
			j := newJob(t, s.URL(), 3*time.Second)
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
	s := locks.Server(t)
	j := newJob(t, s.URL(), 1500*time.Millisecond)
	ctx, cancel := j.Lease.Context(context.Background())
	defer cancel()
	s.Stop(t)
	locks.Await(t, "the context's end", ctx.Done())
	now := time.Now()
	late := locks.Took(t, "to be told after the deadline", j.Lease.Deadline(), now, locks.Slack)
	t.Logf("told %v after the deadline", late)
	if now.Before(j.Lease.Deadline()) {
		t.Errorf("told %v before the deadline", j.Lease.Deadline().Sub(now))
	}
	locks.Is(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired, wire.ErrTimeout)
	s.Continue(t)
	on := time.Now()
	lease, at := j.Next(t)
	locks.Took(t, "the waiter", on, at, locks.S+locks.R)
	locks.Is(t, "Unlock", j.Lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
	locks.Unlock(t, lease)
}
