package renewal

// confirmLocked applies the confirmation of an extend that was sent at sent with the TTL and margin
// of req. The term must be live and its validUntil still to come. It reports whether no later send
// has been confirmed.
//
// Extends of one term may be under way on two connections at once, and their replies may come in
// any order. Whatever the order, three things hold:
//
//   - The belief never exceeds what this extend made the store promise: its own span.
//   - Nor does it exceed what the user has asked for since, the span of now. That matters if a
//     shorter Retime came after the send.
//   - A later deadline that was confirmed already stays.
func (t *Term[T]) confirmLocked(req Request[T], sent, now Instant) bool {
	lease := never
	if !t.noExpiry {
		lease = sent.add(min(span(req.TTL, req.margin), span(t.ttl, t.margin)))
	}
	if lease.left(now) > t.lease.left(now) {
		t.moveLocked(lease, now)
	}
	t.agains = 0
	if sent.mono.Before(t.confirmed.mono) {
		return false
	}
	t.confirmed, t.failure = sent, nil
	return true
}

// moveLocked sets what the lease is believed in to, and validUntil and the timer with it.
//
// Valid reads validUntil without the mutex, so it is stored whole, in one pointer. The halves of two
// instants might make a third that is later than both.
func (t *Term[T]) moveLocked(lease, now Instant) {
	until := earliest(lease, t.latest)
	t.lease = lease
	t.until.Store(&until)
	t.timeLocked(now)
}

// timeLocked sets the timer of a live term to validUntil, or to when it is to be set again. The pace
// is told: a wall clock that runs ahead after now makes this timer late.
func (t *Term[T]) timeLocked(now Instant) {
	t.set.pace.setLocked(now)
	if until := t.until.Load(); until.never {
		t.timer.Stop()
	} else {
		t.timer.Reset(min(until.left(now), maxTimer))
	}
}
