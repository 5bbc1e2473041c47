package renewal

import "time"

// tickForLocked sees to it that the wall clock is looked at often enough for a term of length ttl.
// That is each second, and at least each tenth of the shortest TTL.
//
// A term's own timer cannot do that. It runs by the monotonic clock and stands still with it while
// the machine sleeps. Nor is a ticker set back for a longer term: the shortest sets the period until
// the next tick, which looks at who lives.
func (s *Set[T]) tickForLocked(ttl time.Duration, now Instant) {
	period := max(min(ttl/10, maxPeriod), minPeriod)
	if s.period > 0 && s.period <= period {
		return
	}
	if s.period == 0 {
		s.ticked = now
	}
	s.period = period
	if s.ticker == nil {
		s.ticker = time.AfterFunc(period, s.tick)
	} else {
		s.ticker.Reset(period)
	}
}

// tick looks at the wall clock. It comes again while terms live.
//
// It ends the terms whose validUntil has passed by that clock and sets the timers of the others by
// it. It brings their renewals forward by as much as the clock ran ahead. Only if it did, all terms
// are looked at.
//
// A tick that a Reset or Close could not stop any more does no harm. It finds what it would have found
// later, or a set without terms.
func (s *Set[T]) tick() {
	s.mu.Lock()
	now := s.clock()
	var events []event[T]
	if s.pace.outdatedLocked(now) {
		events = s.sweepLocked(now)
	}
	s.catchUpLocked(now)
	s.ticked, s.period = now, 0
	if shortest, ok := s.pace.shortestLocked(); ok {
		s.tickForLocked(shortest, now)
	}
	s.mu.Unlock()
	s.report(events...)
}

// sweepLocked ends every term whose validUntil has passed, and sets the timers of the others.
func (s *Set[T]) sweepLocked(now Instant) []event[T] {
	var events []event[T]
	for t := range s.live {
		if t.passedLocked(now) {
			events = append(events, t.endLocked(now, nil))
		} else {
			t.timeLocked(now)
		}
	}
	return events
}

// catchUpLocked brings renewals forward after a forward step of the wall clock. The larger of both
// clocks counts, so they are due that much earlier. Steps below a period are left to the share of
// the TTL that is there for retries.
func (s *Set[T]) catchUpLocked(now Instant) {
	step := ahead(s.ticked, now)
	if step <= s.period {
		return
	}
	s.queue.hurry(step)
	if first := s.queue.first(); !first.IsZero() {
		s.wakeLocked(first, now)
	}
}
