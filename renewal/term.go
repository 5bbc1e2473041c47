package renewal

import "time"

// Data is what [Set.Add] was given. It does not block.
func (t *Term[T]) Data() T { return t.data }

// Done is closed when the term has ended. It is closed at validUntil at the latest, as far as the
// scheduler and the timers go; see [Term.Valid].
func (t *Term[T]) Done() <-chan struct{} { return t.done }

// Err is nil until Done is closed, then the cause of the end. That is the one given to End, Lose or
// Close, or one that is [ErrExpired], [ErrMaxHold] or [ErrNotOwner].
func (t *Term[T]) Err() error {
	if !t.ended() {
		return nil
	}
	return t.err
}

// Valid reports whether the term is live and its validUntil is still to come, by both clocks, right
// now and whatever timers do. It takes no lock and is cheap.
func (t *Term[T]) Valid() bool {
	return !t.ended() && t.until.Load().left(t.set.clock()) > 0
}

// Until is validUntil, the last one if the term has ended. It has a monotonic reading. For a
// permanent term it is the end of its MaxHold, and without one the zero time, for never.
func (t *Term[T]) Until() time.Time { return t.until.Load().Time() }

// TTL is how long the store keeps the lease after the next extend: what [Config] or the last
// [Term.Retime] said. For a permanent term it only sets the interval of the checks. It does not
// block on input or output.
func (t *Term[T]) TTL() time.Duration {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.ttl
}

// ended reports whether done is closed. It takes no lock: a receive from an open channel that
// nobody sends on does not.
func (t *Term[T]) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// passedLocked reports whether validUntil has passed. It does not say whether the term has ended:
// between the two lies what the timer is late.
func (t *Term[T]) passedLocked(now Instant) bool { return t.until.Load().left(now) <= 0 }

// tooLateLocked is why a term ended whose validUntil has passed. Both parts of it may have, if
// nobody looked for long enough: the one that did so first is the reason.
func (t *Term[T]) tooLateLocked(now Instant) error {
	if t.latest.left(now) <= t.lease.left(now) {
		return ErrMaxHold
	}
	return because(ErrExpired, t.failure)
}
