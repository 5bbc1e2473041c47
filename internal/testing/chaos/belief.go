package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// poll is how often a holder asks Valid, as it would before each write.
const poll = time.Millisecond

// A belief is a worker's with a lease.
type belief struct {
	w      *worker
	client *lock.Client // whose lease it may be: another one can have taken its place since
	lease  *lock.Lease  // nil if there is none, or the program dropped it
	rec    Lease
	lost   bool // Valid has said false
}

// belief begins one, if there is a lease. Its call has returned right now.
func (w *worker) belief(lease *lock.Lease, o order, called time.Duration) *belief {
	b := &belief{w: w, client: o.client, lease: lease, rec: Lease{
		Name: o.name, How: o.how, Client: w.seat.index, Worker: w.index,
		Call: called, Return: w.run.now(), AtLeast: o.options.HoldAtLeast,
	}}
	if lease == nil {
		return b
	}
	b.rec.Name, b.rec.Fence, b.rec.Longest = lease.Name(), lease.Fence(), o.options.TTL
	b.rec.Begin, b.rec.End = b.rec.Return, b.rec.Return-1
	if end := lease.Deadline(); !end.IsZero() && time.Since(end) > slack/4 {
		w.run.seen("success was reported %v after the lease's end: %v", time.Since(end), b.rec)
	}
	return b
}

// valid asks Valid, and prolongs the belief if it says true.
func (b *belief) valid() bool {
	at, ended := b.w.run.now(), over(b.lease.Done())
	valid := b.lease.Valid()
	switch {
	case valid && (ended || b.lost):
		b.w.run.seen("a lease was valid again after its end: %v", b.rec)
	case valid:
		b.rec.End = at
	default:
		b.lost = true
	}
	return valid
}

// hold holds the lease for up to four TTLs, until it is lost or stop is closed, and does this and that
// meanwhile.
func (b *belief) hold(stop <-chan struct{}) {
	random := b.w.random
	until := b.rec.Return + upTo(random, 4*b.w.run.cfg.TTL)
	deed := b.rec.Return + upTo(random, 6*b.w.run.cfg.TTL) // often never
	ctx, cancel := b.lease.Context(context.Background())
	defer cancel()
	for b.valid() {
		now := b.w.run.now()
		if now >= until || over(stop) {
			return
		}
		if now >= deed {
			b.deed()
			deed = until
		}
		time.Sleep(poll)
	}
	b.told(ctx)
}

// told looks whether a lease that is not valid has ended for everybody else as well.
func (b *belief) told(ctx context.Context) {
	late := time.NewTimer(slack)
	defer late.Stop()
	for _, done := range []<-chan struct{}{b.lease.Done(), ctx.Done()} {
		select {
		case <-done:
		case <-late.C:
			b.w.run.seen("a lease ended and did not say so: %v", b.rec)
			return
		}
	}
	err, cause := b.lease.Err(), context.Cause(ctx)
	if err == nil || cause == nil || cause.Error() != err.Error() {
		b.w.run.seen("a lease ended with %v, its context with %v: %v", err, cause, b.rec)
	}
}

// deed does one thing to the lease while it is held.
func (b *belief) deed() {
	ctx, cancel := b.w.context(b.rec.Name)
	defer cancel()
	ttl := b.w.run.cfg.TTL
	began, what := b.w.run.now(), ""
	var err error
	draw := b.w.random.IntN(4)
	if b.rec.Name == stay {
		draw = 3 // there is nothing to extend
	}
	switch draw {
	case 0:
		what = "Extend"
		d := max(ttl/2, 50*time.Millisecond) + upTo(b.w.random, 2*ttl)
		b.rec.Longest = max(b.rec.Longest, d)
		err = b.lease.Extend(ctx, d)
	case 1:
		what = "ExtendBy"
		d := time.Millisecond + upTo(b.w.random, ttl)
		b.rec.Longest += d + time.Millisecond
		_, err = b.lease.ExtendBy(ctx, d)
	case 2:
		what = "Renew"
		err = b.lease.Renew(ctx)
	default:
		what = "Check"
		err = b.lease.Verify(ctx)
	}
	if took := b.w.run.took(began); took > 2*operationLimit+slack {
		b.w.run.seen("%s took %v: %v", what, took, b.rec)
	}
	for _, wrong := range []error{lock.ErrInvalid, lock.ErrReleased, lock.ErrDetached} {
		if errors.Is(err, wrong) {
			b.w.run.seen("%s returned %v: %v", what, err, b.rec)
		}
	}
}
