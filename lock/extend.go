package lock

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Extend makes ttl the lease's TTL, counted from now, for later renewals too. The TTL must be 50 ms
// to 366 days, and longer than the lease's margin. MaxHold still counts from the acquire on.
//
// A longer TTL counts when Redis has confirmed it. A shorter one ends the lease that much earlier
// at once, whatever Extend returns. The key itself runs down to the shorter TTL. So after a crash
// the key may stay until the old TTL is over.
//
// Extend blocks for one round trip, and after a network error for a second one. It blocks at most
// for two operation limits of 2 s, and no longer than until ctx ends.
//
// Somebody else may have given the key more time than the lease ever asked for. A command of its
// own sets that right. Extend to a longer TTL waits for that command, for one operation limit at
// most. If that command got no reply, it may yet be executed. So Extend to a longer TTL is refused
// for two minutes.
//
// The error Is:
//   - [ErrReleased] after Unlock.
//   - [ErrDetached] after Detach.
//   - [ErrLost] if the lease has ended otherwise. The error wraps the cause.
//   - [ErrUnknown] if no reply came. The next renewal brings the new TTL then.
//   - [ErrInvalid] if the TTL is not as said above, or the lease has no expiry. Nothing was sent.
//     [ErrInvalid] also while a longer TTL is refused.
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

// Renew brings the lease back to its full TTL, counted from now. It is [Lease.Extend] to the TTL
// that the lease has. It is for leases that are not renewed, or right before something that must
// not be interrupted.
func (l *Lease) Renew(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	return l.Extend(ctx, l.held().TTL())
}

// ExtendBy adds d, 1 ms to 366 days, to what the key has left, and returns what the key has then.
// The lease goes by that result, even if somebody had shortened the key's time. If somebody had
// prolonged the key's time, the lease goes by the longest that it has asked for, and ExtendBy
// returns that. A result that is more than the lease's TTL becomes the lease's TTL, for later
// renewals too. All that a lease asks for may not be more than 366 days.
//
// ExtendBy blocks for one round trip, at most for one operation limit of 2 s, and no longer than
// until ctx ends. Where somebody else has given the key more time, ExtendBy waits and is refused as
// [Lease.Extend] is.
//
// The error Is as that of Extend, with these differences:
//   - [ErrInvalid] also if d is out of range, or all that the lease asks for would be more than 366
//     days. Nothing was sent.
//   - [ErrUnknown] if no reply came. The command is not repeated, and the key may live for longer
//     than the lease believes.
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

// Verify asks Redis whether the lease still holds the lock. If the error is nil, the lease does, or
// did when Redis answered. Nothing is prolonged. Most programs need no more than [Lease.Valid],
// which does no input or output.
//
// Verify blocks for one round trip, and after a network error for a second one. It blocks at most
// for two operation limits of 2 s, and no longer than until ctx ends.
//
// The error Is:
//   - [ErrLost] if the lease does not hold the lock. The lease has ended.
//   - [ErrReleased] after Unlock.
//   - [ErrDetached] after Detach.
//
// Any other error says what kept Redis from answering, and the lease is as it was.
func (l *Lease) Verify(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	h := l.held()
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	return h.Verify(ctx)
}
