package faults_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 13: the server is killed and comes back with its memory. Leases and waiters go on.
func TestFaultServerRestartsWithItsMemory(t *testing.T) {
	t.Parallel()
	s := locks.Server(t, "appendonly yes", "appendfsync always")
	j := newJob(t, s.URL(), 3*time.Second)
	down := time.Now()
	s.Restart(t)
	up := time.Now()
	s.Blocked(t, 1)
	took := locks.Took(t, "to block again", up, time.Now(), 200*time.Millisecond+locks.Slack)
	t.Logf("down for %v; the waiter blocks again after %v", up.Sub(down), took)
	j.GoesOn(t, s)
}

// Row 14: the server is killed and comes back empty. The holder is told at its next renewal, and
// fencing tokens go on growing.
func TestFaultServerRestartsEmpty(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := locks.Server(t)
	j := newJob(t, s.URL(), ttl)
	j.Renewed(t)
	s.Restart(t)
	up := time.Now()
	lost := j.Lost(t)
	t.Logf("told after %v", locks.Took(t, "to be told", up, time.Now(), ttl/3+ttl/6+locks.Slack))
	locks.Is(t, "Lost", lost, lock.ErrLost, renewal.ErrNotOwner)
	lease, at := j.Next(t)
	locks.Took(t, "the waiter", up, at, locks.S+locks.R)
	if lease.Fence() <= j.Lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", j.Lease.Fence(), lease.Fence())
	}
	locks.Is(t, "Unlock", j.Lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
	if got := locks.Value(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	locks.Unlock(t, lease)
}
