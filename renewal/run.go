package renewal

import (
	"math/rand/v2"
	"slices"
	"time"
)

// run is the body of the set's one goroutine: it sends what is due and sleeps until more is.
//
// No wake-up is lost between next and the select. Who queues a term after next has looked sets the
// alarm, under the mutex, and the alarm's channel keeps that it fired.
func (s *Set[T]) run() {
	defer close(s.done)
	for {
		a, open := s.next()
		switch {
		case !open:
			return
		case a != nil:
			s.perform(a)
		default:
			select {
			case <-s.alarm.C:
			case <-s.stop:
			}
		}
	}
}

// next returns the batch to send now. If nothing is due it sets the alarm and returns nil. It
// returns false once the set is closed.
//
// A class may be due and have no term to send, if all that were due in it have expired. They are out
// of the queue then, so the loop ends.
func (s *Set[T]) next() (a *attempt[T], open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	now := s.clock()
	for c := s.queue.pick(now.mono); c != nil; c = s.queue.pick(now.mono) {
		if a := s.gatherLocked(c, now); len(a.reqs) > 0 {
			return a, true
		}
	}
	s.alarmAt = time.Time{} // nothing is due before what the queue says
	if first := s.queue.first(); !first.IsZero() {
		s.wakeLocked(first, now)
	}
	return nil, true
}

// perform sends one batch and deals with its results.
//
// The send instant is read here, after the mutex was released and right before the call. What the
// goroutine waits for a processor in between makes the lease shorter, never longer.
func (s *Set[T]) perform(a *attempt[T]) {
	batch := slices.Clone(a.reqs) // the ExtendFunc may do with it what it likes; we need ours
	sent := s.clock()
	results := s.extend(batch, a.limit(sent), a.written)
	a.written() // whoever forgot to say so must not keep End waiting
	s.report(s.settle(a, sent, results)...)
}

// settle applies the results of a batch that was sent at sent and returns what is to be reported.
// A term that ended while the batch was under way is left as it is, whatever its result.
//
// From here on no batch carries the terms. All of a batch are settled under the mutex at once. So
// nobody finds a live term that has no carrier and is not queued either, unless none renews it or it
// is too late.
func (s *Set[T]) settle(a *attempt[T], sent Instant, results []Result) []event[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock() // after the reply: what passed until here is too late
	jitter := rand.Float64()
	events := make([]event[T], 0, len(a.reqs))
	for i, req := range a.reqs {
		req.Term.carrier = nil
		if !req.Term.ended() {
			e := req.Term.settleLocked(req, result(results, i), sent, now, jitter)
			events = append(events, e)
		}
	}
	return events
}

// settleLocked applies one result to a live term: it ends the term or queues it anew.
//
// The order matters. That the store disowns the term counts even after validUntil has passed, as the
// cause then tells it. Everything else that comes after validUntil is too late, a success as well.
func (t *Term[T]) settleLocked(req Request[T], r Result, sent, now Instant, jitter float64) event[T] {
	switch r.Outcome {
	case NotOwner:
		t.failure = because(ErrNotOwner, r.Err)
		return t.endLocked(now, t.failure)
	case Failed:
		t.failure, t.agains = r.Err, 0
	}
	if t.passedLocked(now) { // also a confirmation is worth nothing then
		return t.endLocked(now, nil)
	}
	switch r.Outcome {
	case Renewed:
		t.confirmLocked(req, sent, now)
		t.scheduleLocked(t.nextDueLocked(now), now)
		return event[T]{kind: wasRenewed, term: t, until: t.Until()}
	case Again:
		t.againLocked(now, jitter)
		return event[T]{}
	default:
		t.scheduleLocked(now.mono.Add(t.pauseLocked(jitter)), now)
		return event[T]{kind: hasFailed, term: t, err: r.Err}
	}
}
