package lock

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Extend makes ttl the lease's TTL, counted from now, for later renewals too: 50 ms to 366 days, and
// longer than the lease's margin, else the error Is [ErrInvalid] and nothing was sent; so it is for a
// lease without expiry. MaxHold still counts from the acquire on.
//
// A longer TTL counts when Redis has confirmed it. A shorter one ends the lease that much earlier at
// once, whatever Extend returns; the key itself runs down to it, so after a crash it may stay until
// the old TTL is over.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation
// limits of 2 s and no longer than until ctx ends. Somebody else may have given the key more time than
// the lease ever asked for. That is set right with a command of its own, and Extend to a longer TTL waits
// for it, for one operation limit at most. If that command got no reply, Extend to a longer TTL is refused
// for two minutes with an error that Is [ErrInvalid], since it may yet be executed.
//
// The error Is:
//   - [ErrReleased] after Unlock, [ErrDetached] after Detach;
//   - [ErrLost] if the lease has ended otherwise, with the cause;
//   - [ErrUnknown] if no reply came: then the next renewal brings the new TTL.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	defer runtime.KeepAlive(l)
	h := l.held()
	if err := checkExtend(ctx, h, ttl); err != nil {
		return err
	}
	return h.Extend(ctx, ttl)
}

// checkExtend refuses what cannot become a lease's TTL.
func checkExtend(ctx context.Context, h *engine.Lease, ttl time.Duration) error {
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	if err := checkTTL(ttl); err != nil {
		return err
	}
	s := h.Settings()
	if s.NoExpiry {
		return invalid("the lease of %.40q has no expiry: there is nothing to extend", h.Name())
	}
	return checkMargin(s.MarginFor(ttl), ttl)
}

// Renew brings the lease back to its full TTL, counted from now: it is [Lease.Extend] to the TTL that
// the lease has, for leases that are not renewed, or right before something that must not be
// interrupted.
func (l *Lease) Renew(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	return l.Extend(ctx, l.held().TTL())
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
	ttl := h.TTL()
	if err := checkExtend(ctx, h, ttl); err != nil {
		return 0, err
	}
	most := max(ttl, time.Until(h.Deadline())+h.Settings().MarginFor(ttl)) + d
	if err := h.Err(); err == nil && most > maxTTL {
		return 0, invalid("%v more would be %v, which is over %s: give less", d, most, maxTTLText)
	}
	return h.ExtendBy(ctx, d)
}

// Verify asks Redis whether the lease still holds the lock. nil: it does, or did when Redis answered. An
// error that Is [ErrLost]: it does not, and the lease has ended. After Unlock it is [ErrReleased], after
// Detach [ErrDetached]. Any other error says what kept Redis from answering, and the lease is as it was.
// Nothing is prolonged. Most programs need no more than [Lease.Valid], which does no I/O.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation limits
// of 2 s and no longer than until ctx ends.
func (l *Lease) Verify(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	h := l.held()
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	return h.Verify(ctx)
}
