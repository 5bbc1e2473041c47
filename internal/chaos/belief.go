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
	w     *worker
	lease *lock.Lease
	rec   Lease
	lost  bool // Valid has said false
}

// belief begins one, if there is a lease. Its call has returned right now.
func (w *worker) belief(lease *lock.Lease, rec Lease) *belief {
	rec.Client, rec.Worker = w.seat.index, w.index
	rec.Return = w.run.now()
	b := &belief{w: w, lease: lease, rec: rec}
	if lease == nil {
		return b
	}
	b.rec.Fence, b.rec.Longest = lease.Fence(), w.run.cfg.TTL
	b.rec.Begin, b.rec.End = b.rec.Return, b.rec.Return-1
	if late := time.Since(lease.Deadline()); late > slack/4 {
		w.run.seen("success was reported %v after the lease's end: %v", late, b.rec)
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
	ctx, cancel := b.w.context()
	defer cancel()
	ttl := b.w.run.cfg.TTL
	began, what := b.w.run.now(), ""
	var err error
	switch b.w.random.IntN(4) {
	case 0:
		what = "Extend"
		d := ttl/2 + upTo(b.w.random, 2*ttl)
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
		err = b.lease.Check(ctx)
	}
	if took := b.w.run.now() - began; took > 2*operationLimit+slack {
		b.w.run.seen("%s took %v: %v", what, took, b.rec)
	}
	for _, wrong := range []error{lock.ErrInvalid, lock.ErrReleased, lock.ErrDetached} {
		if errors.Is(err, wrong) {
			b.w.run.seen("%s returned %v: %v", what, err, b.rec)
		}
	}
}

// finish gives the lock up in some way.
func (b *belief) finish(stop <-chan struct{}) {
	held := b.valid()
	ctx, cancel := b.w.context()
	defer cancel()
	began := b.w.run.now()
	if chance(b.w.random, 15) {
		b.detach(ctx, stop)
		return
	}
	err := b.lease.Unlock(ctx)
	if took := b.w.run.now() - began; took > 2*operationLimit+slack {
		b.w.run.seen("Unlock took %v: %v", took, b.rec)
	}
	if b.rec.Released = err == nil; b.rec.Released && !held {
		b.w.run.seen("Unlock of a lease that had ended returned nil: %v", b.rec)
	}
	if b.lease.Valid() {
		b.w.run.seen("a lease is valid after Unlock: %v", b.rec)
	}
	if chance(b.w.random, 30) {
		if again := b.lease.Unlock(ctx); (again == nil) != (err == nil) {
			b.w.run.seen("Unlock returned %v, and then %v: %v", err, again, b.rec)
		}
	}
}

// detach ends the lease. Then the lock is released from outside, or adopted by some client, at once or
// when somebody comes along.
func (b *belief) detach(ctx context.Context, stop <-chan struct{}) {
	id, err := b.lease.Detach(ctx)
	if id == "" {
		_ = b.lease.Unlock(context.Background()) // the lease may go on, or have ended before
		return
	}
	if b.lease.Valid() {
		b.w.run.seen("a lease is valid after Detach, which returned %v: %v", err, b.rec)
	}
	switch draw := b.w.random.IntN(100); {
	case draw < 25:
		_ = b.w.seat.current().ReleaseID(ctx, b.rec.Name, id)
	case draw < 50:
		b.w.run.hand(b.rec.Name, id)
	default:
		other := *b.w
		other.seat = b.w.run.seats[b.w.random.IntN(len(b.w.run.seats))]
		other.call("Adopt", b.rec.Name, stop, adopt(id))
	}
}

// write puts the lease into the history.
func (b *belief) write() {
	b.w.run.record(func(h *History) { h.Leases = append(h.Leases, b.rec) })
}
