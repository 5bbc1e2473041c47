package renewal

import "time"

// Retime makes ttl and margin the term's and returns the instant of the send that the caller is about
// to do. They hold from that send on and for all renewals after it. It does not block.
//
// A shorter ttl cuts validUntil to the send + ttl - margin at once. So the belief is the shorter one
// before the store knows. A longer one moves nothing: that takes the store's answer,
// which is to be told by [Term.Confirm]. If the answer does not come, renewals go on with the new
// ttl.
//
// A term that has ended, or whose validUntil has passed, stays as it is. So does one with
// Config.NoExpiry, which has no length that could be set.
func (t *Term[T]) Retime(ttl, margin time.Duration) Instant {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	now := t.set.clock()
	if t.noExpiry || t.ended() || t.passedLocked(now) {
		return now
	}
	t.set.pace.addLocked(t.ttl, -1)
	t.set.pace.addLocked(ttl, 1)
	t.ttl, t.margin = ttl, margin
	t.set.tickForLocked(ttl, now)
	// A renewal may be under way that asks for the TTL of before. Its reply does not lengthen what is
	// cut here: confirmLocked goes by the span of now as well.
	t.moveLocked(earliest(t.lease, now.add(span(ttl, margin))), now)
	if t.place.queued() {
		due := now.mono.Add(interval(ttl, margin))
		if t.place.due.Before(due) {
			due = t.place.due // a longer TTL that nobody has confirmed must not put renewal off
		}
		t.scheduleLocked(due, now) // always: the class may be another one
	}
	return now
}

// Confirm says that the store confirmed an extend to ttl that was sent at sent, with margin to be
// kept. It does not block, and calls Options.Ended if it finds that validUntil has passed.
//
// It moves validUntil to sent + ttl - margin if that is later. It does not move it beyond what the
// term's own ttl and margin of now allow: a Retime to less after the send stands. A term with
// Config.NoExpiry is permanent from then on, whatever ttl and margin say.
//
// An error is the term's cause. The term has ended, or its validUntil passed before the confirmation
// was processed here, which is never a success.
func (t *Term[T]) Confirm(sent Instant, ttl, margin time.Duration) error {
	t.set.mu.Lock()
	now := t.set.clock()
	var e event[T]
	switch {
	case t.ended():
	case t.passedLocked(now):
		e = t.endLocked(now, nil)
	case t.confirmLocked(Request[T]{TTL: ttl, margin: margin}, sent, now) && t.place.queued():
		t.scheduleLocked(t.nextDueLocked(now), now)
	}
	err := t.Err() // under the mutex: an end that comes after it is none of this confirmation's
	t.set.mu.Unlock()
	t.set.report(e)
	return err
}

// Shorten says that the store, asked at sent, keeps the lease for no longer than ttl, though more was
// believed. It does not block, and calls Options.Ended if the term ends.
//
// ValidUntil moves back to sent + ttl - margin, and the term is due for renewal now. It ends if that
// has passed. Nothing happens if an extend that was sent later is confirmed: what the store said
// before is outdated then.
func (t *Term[T]) Shorten(sent Instant, ttl, margin time.Duration) {
	t.set.mu.Lock()
	now := t.set.clock()
	var e event[T]
	lease := sent.add(span(ttl, margin))
	later := t.confirmed.mono.After(sent.mono)
	if !t.noExpiry && !t.ended() && !later && lease.left(now) < t.lease.left(now) {
		t.moveLocked(lease, now)
		if t.passedLocked(now) {
			e = t.endLocked(now, nil)
		} else if t.place.queued() {
			t.scheduleLocked(now.mono, now)
		}
	}
	t.set.mu.Unlock()
	t.set.report(e)
}

// Hurry makes the term due for renewal now. It is for a caller whose own extend has failed and who
// does not want to wait for the next one. It does not block.
//
// It does nothing if the term has ended, is not renewed at all, or is in a batch that is under way.
func (t *Term[T]) Hurry() {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	now := t.set.clock()
	if t.place.queued() && t.place.due.After(now.mono) { // what is overdue must not lose its place
		t.scheduleLocked(now.mono, now)
	}
}
