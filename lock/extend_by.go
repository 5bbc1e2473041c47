package lock

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/renewal"
)

// Renew brings the lease back to its full TTL, counted from now: it is [Lease.Extend] to the TTL that
// the lease has, for leases that are not renewed, or right before something that must not be
// interrupted.
func (l *Lease) Renew(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	return l.Extend(ctx, l.held().term.TTL())
}

// ExtendBy adds d, 1 ms to 366 days, to what the key has left, and returns what it has then. The lease goes by
// that, even if somebody had shortened it; if somebody had prolonged it, the lease goes by the longest that
// it has asked for, and returns that. If the result is more than the lease's TTL it becomes the lease's TTL,
// for later renewals too. All that a lease asks for may not be more than 366 days. The error Is [ErrInvalid] if
// it would be, or if the lease has no expiry, and nothing was sent.
//
// It blocks for one round trip, at most for an operation limit of 2 s and no longer than until ctx ends; it
// waits and is refused as Extend is where somebody else has given the key more time. Other errors are those
// of Extend; but if no reply came it is not repeated, and the error Is [ErrUnknown]: the key may live for
// longer than the lease believes.
func (l *Lease) ExtendBy(ctx context.Context, d time.Duration) (left time.Duration, err error) {
	defer runtime.KeepAlive(l)
	h := l.held()
	if d < time.Millisecond || d > maxTTL {
		return 0, invalid("the duration %v is out of range: give %v to %s", d, time.Millisecond, maxTTLText)
	}
	ttl := h.term.TTL()
	if _, err := h.checkExtend(ctx, ttl); err != nil {
		return 0, err
	}
	most := max(ttl, time.Until(h.term.Until())+h.settings.marginFor(ttl)) + d
	if most > maxTTL {
		return 0, invalid("%v more would be %v, which is over %s: give less", d, most, maxTTLText)
	}
	if err := h.cuts.add(ctx, d); err != nil {
		return 0, explain("extend", h.name, err)
	}
	at := renewal.Now()
	answer, err := h.sendExtend(ctx, extendBy, d)
	if err := h.answered("extend", answer, err); err != nil {
		h.cuts.notAdded(d, sent(err))
		return 0, err
	}
	left = h.cuts.added(d, fromMillis(answer.pttl))
	margin := h.settings.marginFor(left)
	if left > ttl {
		h.term.Retime(left, margin)
	} else { // somebody may have shortened what the key had: then the lease ends with it, unless it is renewed
		h.term.Shorten(at, left, min(margin, left))
	}
	_ = h.term.Confirm(at, left, min(margin, left)) // its error is the term's
	h.setRight(ctx)
	return left, lost(h.name, h.term.Err())
}

// Check asks Redis whether the lease still holds the lock. nil: it does, or did when Redis answered. An
// error that Is [ErrLost]: it does not, and the lease has ended. After Unlock it is [ErrReleased], after
// Detach [ErrDetached]. Any other error says what kept Redis from answering, and the lease is as it was.
// Nothing is prolonged. Most programs need no more than [Lease.Valid], which does no I/O.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation limits
// of 2 s and no longer than until ctx ends.
func (l *Lease) Check(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	h := l.held()
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	if err := lost(h.name, h.term.Err()); err != nil {
		return err
	}
	var answer extended
	err := h.client.twice(ctx, func() (err error) {
		answer, err = h.sendExtend(ctx, extendCheck, 0)
		return err
	})
	if err := h.answered("check", answer, err); err != nil {
		return err
	}
	h.setRight(ctx)
	return lost(h.name, h.term.Err())
}
