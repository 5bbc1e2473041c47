package renewal

import (
	"context"
	"time"
)

// patience is how long End and Close wait for an attempt that does not end. It is longer than any
// limit, so an ExtendFunc that keeps to its own is always waited for.
const patience = maxLimit + time.Second

// End ends the term with cause, takes it out of the set and calls Options.Ended. If a batch that
// carries the term is being written, it then waits for the end of that write, never for the reply.
// After it returned no renewal of the term is written, so that a release can be sent.
//
// It returns true if this very call ended the term in time. It returns false if the term had ended
// before, or if its validUntil had passed while its timer was late. The cause is [ErrExpired] or
// [ErrMaxHold] then, whatever End was given. In both cases too the write is waited for. A nil cause
// counts as [context.Canceled].
func (t *Term[T]) End(cause error) bool {
	inTime, carrier := t.end(cause)
	// A batch is put together, and its terms are marked, under the mutex. So either t was marked
	// before: its batch's write is waited for even if it has not begun. Or t was not: then it has
	// left the queue, and no later batch can carry it.
	if carrier != nil {
		await(carrier)
	}
	return inTime
}

// Lose is End for who has heard from the store that the lease is not ours. It waits for no write,
// since a renewal of it that is written now finds the same.
func (t *Term[T]) Lose(cause error) { t.end(cause) }

// end ends the term. It returns whether it did so in time, and the term's carrier.
func (t *Term[T]) end(cause error) (inTime bool, carrier <-chan struct{}) {
	if cause == nil {
		cause = context.Canceled
	}
	t.set.mu.Lock()
	now := t.set.clock()
	inTime = !t.ended() && !t.passedLocked(now)
	e := t.endLocked(now, cause)
	carrier = t.carrier
	t.set.mu.Unlock()
	t.set.report(e)
	return inTime, carrier
}

// expire is called by the timer. The deadline may have moved since the timer was set, and a timer
// that has fired already cannot be stopped. So the clock decides.
func (t *Term[T]) expire() {
	t.set.mu.Lock()
	now := t.set.clock()
	var e event[T]
	if t.passedLocked(now) {
		e = t.endLocked(now, nil)
	} else if !t.ended() {
		t.timeLocked(now)
	}
	t.set.mu.Unlock()
	t.set.report(e)
}

// endLocked ends a live term and returns what is to be reported. A term that has ended is left as
// it is. If validUntil has passed that is the cause, whatever was given. Who was too late must not
// look as if he had been in time.
//
// Several may want to end a term at once: its timer, End, a reply, a tick, Close. Under the mutex the
// first of them closes done, and the others find it closed. So Ended is called once.
func (t *Term[T]) endLocked(now Instant, cause error) event[T] {
	if t.ended() {
		return event[T]{}
	}
	if t.passedLocked(now) {
		cause = t.tooLateLocked(now)
	}
	t.timer.Stop()
	t.set.queue.remove(&t.place)
	delete(t.set.live, t)
	t.set.pace.addLocked(t.ttl, -1)
	t.err = cause // before the close, which is what lets Err read it
	close(t.done)
	return event[T]{kind: hasEnded, term: t, err: cause}
}

// await waits for ch to be closed, but not for ever.
func await(ch <-chan struct{}) {
	select {
	case <-ch:
		return
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
