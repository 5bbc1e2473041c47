package chaos

import (
	"context"
)

// finish gives the lock up in some way.
func (b *belief) finish(stop <-chan struct{}) {
	ctx, cancel := b.w.context(b.rec.Name)
	defer cancel()
	switch draw := b.w.random.IntN(100); {
	case draw < 15:
		b.valid()
		b.detach(ctx, stop)
	case draw < 20 && b.rec.Name != stay:
		b.drop()
	default:
		b.unlock(ctx)
		b.left()
	}
}

// unlock releases the lock.
func (b *belief) unlock(ctx context.Context) {
	held := b.valid()
	b.rec.Unlock = b.w.run.now()
	err := b.lease.Unlock(ctx)
	b.rec.Unlocked = b.w.run.now()
	if took := b.w.run.took(b.rec.Unlock); took > 2*operationLimit+slack {
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
	if id == b.w.id {
		b.w.id = "" // others know it now
	}
	switch draw := b.w.random.IntN(100); {
	case draw < 25:
		_ = b.w.seat.current().ReleaseID(ctx, b.rec.Name, id)
	case draw < 50:
		b.w.run.hand(b.rec.Name, id)
	default:
		other := *b.w
		other.seat = pick(b.w.random, b.w.run.seats)
		other.id = ""
		other.call(other.adopt(b.rec.Name, id), stop)
	}
}

// write puts the lease into the history.
func (b *belief) write() {
	b.w.run.record(func(h *History) { h.Leases = append(h.Leases, b.rec) })
}
