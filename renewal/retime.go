package renewal

import "time"

// span is how long after its send a confirmed extend is believed in.
func span(ttl, margin time.Duration) time.Duration { return ttl - max(margin, 0) }

// interval is how long after the send of a confirmed extend the next one is due.
func interval(ttl, margin time.Duration) time.Duration {
	return min(ttl/3, span(ttl, margin)/2)
}

// Retime makes ttl and margin the term's, from the send that the caller is about to do on and for
// all renewals after it, and returns the instant of that send. It does not block.
//
// A shorter ttl cuts validUntil to the send + ttl - margin at once, so that the belief is the
// shorter one before the store knows. A longer one moves nothing: that takes the store's answer,
// which is to be told by [Term.Confirm]. If the answer does not come, renewals go on with the new
// ttl. A term that has ended, or whose validUntil has passed, stays as it is, and so does one with
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
	t.moveLocked(earliest(t.lease, now.add(span(ttl, margin))), now)
	if t.pos >= 0 {
		due := now.mono.Add(interval(ttl, margin))
		if t.due.Before(due) {
			due = t.due // a longer TTL that nobody has confirmed must not put renewal off
		}
		t.scheduleLocked(due, now) // always: the class may be another one
	}
	return now
}

// Confirm says that the store confirmed an extend to ttl that was sent at sent, with margin to be
// kept. It moves validUntil to sent + ttl - margin if that is later, but not beyond what the term's
// own ttl and margin of now allow: a Retime to less that came after the send stands. A term with
// Config.NoExpiry is permanent from then on, whatever ttl and margin say. It does not block, and
// calls Options.Ended if it finds that validUntil has passed.
//
// An error is the term's cause: it has ended, or its validUntil passed before the confirmation was
// processed here, which is never a success.
func (t *Term[T]) Confirm(sent Instant, ttl, margin time.Duration) error {
	t.set.mu.Lock()
	now := t.set.clock()
	var e event[T]
	switch {
	case t.ended():
	case t.passedLocked(now):
		e = t.endLocked(now, nil)
	case t.confirmLocked(Request[T]{TTL: ttl, margin: margin}, sent, now) && t.pos >= 0:
		t.scheduleLocked(t.nextDueLocked(now), now)
	}
	err := t.Err()
	t.set.mu.Unlock()
	t.set.report(e)
	return err
}

// Shorten says that the store, asked at sent, keeps the lease for no longer than ttl, though more was
// believed: validUntil moves back to sent + ttl - margin, the term is due for renewal now, and it ends if
// that has passed. It does nothing if an extend that was sent later is confirmed. It does not block, and
// calls Options.Ended if the term ends.
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
		} else if t.pos >= 0 {
			t.scheduleLocked(now.mono, now)
		}
	}
	t.set.mu.Unlock()
	t.set.report(e)
}

// Hurry makes the term due for renewal now. It is for a caller whose own extend has failed and who
// does not want to wait for the next one. It does not block and does nothing if the term has ended,
// is not renewed at all, or is in a batch that is under way.
func (t *Term[T]) Hurry() {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	now := t.set.clock()
	if t.pos >= 0 && t.due.After(now.mono) { // what is overdue must not lose its place
		t.scheduleLocked(now.mono, now)
	}
}

// confirmLocked applies the confirmation of an extend that was sent at sent with the TTL and margin
// of req, to a live term whose validUntil is still to come. It reports whether it is the latest
// send that was confirmed.
//
// Extends of one term may be under way on two connections at once, and their replies may come in
// any order. Whatever the order: the belief never exceeds what this extend made the store promise
// (its own span), nor what the user has asked for since (the span of now, which matters if a
// shorter Retime came after the send), and a later deadline that was confirmed already stays.
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
func (t *Term[T]) moveLocked(lease, now Instant) {
	until := earliest(lease, t.latest)
	t.lease = lease
	t.until.Store(&until)
	t.timeLocked(now)
}

// timeLocked sets the timer of a live term to validUntil, or to when it is to be set again.
func (t *Term[T]) timeLocked(now Instant) {
	t.set.pace.setLocked(now)
	if until := t.until.Load(); until.never {
		t.timer.Stop()
	} else {
		t.timer.Reset(min(until.left(now), maxTimer))
	}
}

// nextDueLocked is when to renew the term if nothing fails. The interval counts from the last
// confirmed send, by the larger of both clocks: what the machine slept since is over. After a
// Retime to more that was not confirmed the lease runs out earlier than the new TTL makes believe:
// half of the way to there is the latest. MaxHold does not count here. No renewal moves it, so half
// of the way to it would be half of that the next time, and so on without an end.
func (t *Term[T]) nextDueLocked(now Instant) time.Time {
	wait := interval(t.ttl, t.margin)
	if !t.lease.never {
		wait = min(wait, t.lease.mono.Sub(t.confirmed.mono)/2)
	}
	return t.confirmed.mono.Add(wait - max(ahead(t.confirmed, now), 0))
}

// scheduleLocked queues a live term for renewal at due, if it is to be renewed and no batch carries
// it. What a batch carries is queued when its result is in.
func (t *Term[T]) scheduleLocked(due time.Time, now Instant) {
	if t.noRenewal || t.carrier != nil {
		return
	}
	t.set.queue.remove(t)
	t.due = due
	t.set.queue.push(t)
	t.set.wakeLocked(due, now)
}
