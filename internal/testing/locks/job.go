package locks

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// A Job is a holder of the lock "job" and a waiter for it, in two clients of one server.
type Job struct {
	Lease *lock.Lease // the holder's

	wait                                <-chan Result
	renewed, failed, lost, reconnecting chan lock.Event
}

// NewJob has the first client that open returns take the lock, and the second wait for it. Open must
// close them with the test. The options say nothing but the holder's TTL and the hooks.
func NewJob(t testing.TB, ttl time.Duration, open func(*lock.Options) *lock.Client) *Job {
	t.Helper()
	const room = 10_000 // more than any test makes
	j := &Job{
		renewed:      make(chan lock.Event, room),
		failed:       make(chan lock.Event, room),
		lost:         make(chan lock.Event, room),
		reconnecting: make(chan lock.Event, room),
	}
	holder := open(&lock.Options{TTL: ttl, Hooks: lock.Hooks{
		Renewed:       keep(j.renewed),
		RenewalFailed: keep(j.failed),
		Lost:          keep(j.lost),
	}})
	j.Lease = Acquire(t, holder.Mutex("job"))
	refused := make(chan lock.Event, room)
	waiter := open(&lock.Options{Hooks: lock.Hooks{
		Waiting:      keep(refused),
		Reconnecting: keep(j.reconnecting),
	}})
	j.wait = Later(Soon(t), waiter.Mutex("job"))
	Await(t, "Waiting", refused)
	return j
}

// Renewed waits for a renewal that is confirmed from now on.
func (j *Job) Renewed(t testing.TB) {
	t.Helper()
	for len(j.renewed) > 0 {
		<-j.renewed
	}
	Await(t, "a renewal", j.renewed)
}

// RenewalFailed waits for a renewal that fails, or returns the error of one that has.
func (j *Job) RenewalFailed(t testing.TB) error {
	t.Helper()
	return Await(t, "a renewal fails", j.failed).Err
}

// Lost waits until the holder has been told that the lock is lost, and returns why.
func (j *Job) Lost(t testing.TB) error {
	t.Helper()
	return Await(t, "Lost", j.lost).Err
}

// Reconnecting waits until the waiter has lost a connection.
func (j *Job) Reconnecting(t testing.TB) {
	t.Helper()
	Await(t, "Reconnecting", j.reconnecting)
}

// Next waits until the waiter has the lock, and returns its lease and when that was.
func (j *Job) Next(t testing.TB) (*lock.Lease, time.Time) {
	t.Helper()
	return Got(t, j.wait)
}

// GoesOn checks that the lease has outlived a fault of the server, and that its release wakes the
// waiter. What the server sees blocking may be a half-open connection of before the fault, which the
// waiter gives up S + 0.5 s after its last look.
func (j *Job) GoesOn(t testing.TB, s *redistest.Server) {
	t.Helper()
	j.Renewed(t)
	if !j.Lease.Valid() || len(j.lost) > 0 {
		t.Fatalf("the lease is lost: %v", j.Lease.Err())
	}
	s.Blocked(t, 1)
	Unlock(t, j.Lease)
	released := time.Now()
	lease, at := j.Next(t)
	Took(t, "the handover", released, at, S+500*time.Millisecond+Slack)
	Unlock(t, lease)
}
