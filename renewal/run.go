package renewal

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	maxPause  = 200 * time.Millisecond // before a failed attempt is repeated; at least a tenth of it
	maxEase   = 2 * time.Second        // the same for a permanent term; at least half of it
	maxAgains = 3                      // in a row without a pause
)

// run is the body of the set's one goroutine: it sends what is due and sleeps until more is.
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

// next returns the batch to send now. If nothing is due it sets the alarm and returns nil; it
// returns false once the set is closed.
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

// wakeLocked sees to it that the goroutine looks at the queue at due at the latest, and at least once a
// day. While it is
// busy the alarm does not matter: it looks at the queue, under the mutex, before it sleeps.
func (s *Set[T]) wakeLocked(due time.Time, now Instant) {
	if s.alarmAt.IsZero() || due.Before(s.alarmAt) {
		s.alarmAt = due
		s.alarm.Reset(min(due.Sub(now.mono), maxTimer))
	}
}

// perform sends one batch and deals with its results. The send instant is read here, after the
// mutex was released and right before the call: waiting for a processor in between makes the lease
// shorter, never longer.
func (s *Set[T]) perform(a *attempt[T]) {
	batch := slices.Clone(a.reqs)
	sent := s.clock()
	results := s.extend(batch, a.limit(sent), a.written)
	a.written() // whoever forgot to say so must not keep End waiting
	s.report(s.settle(a, sent, results)...)
}

// settle applies the results of a batch that was sent at sent and returns what is to be reported.
// A term that ended while the batch was under way is left as it is, whatever its result.
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

// againLocked queues t at once. A store that answers Again for ever must not make the goroutine
// spin, so every one after the third in a row waits as a failure does.
func (t *Term[T]) againLocked(now Instant, jitter float64) {
	due := now.mono
	if t.agains++; t.agains > maxAgains {
		due = due.Add(t.pauseLocked(jitter))
	}
	t.scheduleLocked(due, now)
}

// pauseLocked is how long t waits after a failure: 20 to 200 ms, or 1 to 2 s if it is permanent and
// loses nothing by it, less where half the renewal interval is. The jitter is drawn once per batch,
// so that what failed together is sent together.
func (t *Term[T]) pauseLocked(jitter float64) time.Duration {
	half := interval(t.ttl, t.margin) / 2
	longest := min(maxPause, half)
	shortest := longest / 10
	if t.lease.never {
		longest = min(maxEase, half)
		shortest = longest / 2
	}
	return shortest + time.Duration(jitter*float64(longest-shortest))
}
