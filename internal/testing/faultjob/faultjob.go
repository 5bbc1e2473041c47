// Package faultjob is a lock's holder and a waiter for it, for tests that do something to their Redis
// meanwhile, and the bounds that such tests hold.
package faultjob

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// The bounds are those of the design: S is the second from one look of a waiter to the next, R an
// operation limit. Slack is what a machine that does much else adds.
const (
	S     = time.Second
	R     = 2 * time.Second
	Slack = time.Second
)

// A Job is a holder of the lock "job" and a waiter for it, in two clients of one server.
type Job struct {
	Lease *lock.Lease // the holder's

	wait         chan result
	renewed      chan lock.RenewedInfo
	failed       chan lock.RenewalFailedInfo
	lost         chan lock.LostInfo
	reconnecting chan lock.ReconnectingInfo
}

// A result is what the waiter's Lock came to, and when.
type result struct {
	lease *lock.Lease
	err   error
	at    time.Time
}

// New has the first client that open returns take the lock, and the second wait for it. Open must
// close them with the test. The options say nothing but the holder's TTL and the hooks.
func New(t testing.TB, ttl time.Duration, open func(*lock.Options) *lock.Client) *Job {
	t.Helper()
	const room = 10_000 // more than any test makes
	j := &Job{
		wait:         make(chan result, 1),
		renewed:      make(chan lock.RenewedInfo, room),
		failed:       make(chan lock.RenewalFailedInfo, room),
		lost:         make(chan lock.LostInfo, room),
		reconnecting: make(chan lock.ReconnectingInfo, room),
	}
	holder := open(&lock.Options{TTL: ttl, Hooks: lock.Hooks{
		Renewed:       func(i lock.RenewedInfo) { j.renewed <- i },
		RenewalFailed: func(i lock.RenewalFailedInfo) { j.failed <- i },
		Lost:          func(i lock.LostInfo) { j.lost <- i },
	}})
	var err error
	if j.Lease, err = holder.Mutex("job").TryLock(Soon(t)); err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	refused := make(chan lock.WaitingInfo, room)
	waiter := open(&lock.Options{Hooks: lock.Hooks{
		Waiting:      func(i lock.WaitingInfo) { refused <- i },
		Reconnecting: func(i lock.ReconnectingInfo) { j.reconnecting <- i },
	}})
	go j.lock(Soon(t), waiter) // ends when it has the lock, or with the test
	await(t, "Waiting", refused)
	return j
}

func (j *Job) lock(ctx context.Context, waiter *lock.Client) {
	lease, err := waiter.Mutex("job").Lock(ctx)
	j.wait <- result{lease, err, time.Now()}
}

// Renewed waits for a renewal that is confirmed from now on.
func (j *Job) Renewed(t testing.TB) {
	t.Helper()
	for len(j.renewed) > 0 {
		<-j.renewed
	}
	await(t, "a renewal", j.renewed)
}

// RenewalFailed waits for a renewal that fails, or returns the error of one that has.
func (j *Job) RenewalFailed(t testing.TB) error {
	t.Helper()
	return await(t, "a renewal fails", j.failed).Err
}

// Lost waits until the holder has been told that the lock is lost, and returns why.
func (j *Job) Lost(t testing.TB) error {
	t.Helper()
	return await(t, "Lost", j.lost).Err
}

// Reconnecting waits until the waiter has lost a connection.
func (j *Job) Reconnecting(t testing.TB) {
	t.Helper()
	await(t, "Reconnecting", j.reconnecting)
}

// Next waits until the waiter has the lock, and returns its lease and when that was.
func (j *Job) Next(t testing.TB) (*lock.Lease, time.Time) {
	t.Helper()
	r := await(t, "the lock", j.wait)
	if r.err != nil {
		t.Fatalf("Lock: %v", r.err)
	}
	return r.lease, r.at
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

// Unlock releases a lease that must be held.
func Unlock(t testing.TB, lease *lock.Lease) {
	t.Helper()
	if err := lease.Unlock(Soon(t)); err != nil {
		t.Errorf("Unlock %s: %v", lease.Name(), err)
	}
}

// Took fails the test if it is more than the limit from began to ended. It returns how much it is.
func Took(t testing.TB, what string, began, ended time.Time, limit time.Duration) time.Duration {
	t.Helper()
	took := ended.Sub(began)
	if took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
	return took
}

// Is fails the test unless the error is every one of those wanted.
func Is(t testing.TB, what string, err error, wanted ...error) {
	t.Helper()
	for _, want := range wanted {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v: is not %q", what, err, want)
		}
	}
}

// Soon returns a context that ends long after what it bounds should have happened, so that a test
// that fails does not hang.
func Soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// await returns what comes from a channel soon.
func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("not reached")
	}
}
