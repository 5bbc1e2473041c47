package renewal

import "time"

// tickForLocked sees to it that the wall clock is looked at often enough for a term of length ttl:
// each second, and each tenth of the shortest TTL. A term's own timer cannot do that, as it runs
// by the monotonic clock and stands still with it while the machine sleeps.
func (s *Set) tickForLocked(ttl time.Duration, now Instant) {
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

// tick ends the terms whose validUntil has passed by the wall clock and brings the renewals of the
// others forward by as much as the wall clock ran ahead. It comes again while terms live. A tick
// that a Reset or Close could not stop any more does no harm.
func (s *Set) tick() {
	s.mu.Lock()
	now := s.clock()
	events := s.sweepLocked(now)
	s.catchUpLocked(now)
	s.ticked, s.period = now, 0
	if shortest, ok := s.shortestLocked(); ok {
		s.tickForLocked(shortest, now)
	}
	s.mu.Unlock()
	s.report(events...)
}

// sweepLocked ends every term whose validUntil has passed.
func (s *Set) sweepLocked(now Instant) []event {
	var events []event
	for t := range s.live {
		if t.passedLocked(now) {
			events = append(events, t.endLocked(now, nil))
		}
	}
	return events
}

// catchUpLocked brings renewals forward after a forward step of the wall clock: what counts is the
// larger of both, so they are due that much earlier. Steps below a period are left to the share of
// the TTL that is there for retries.
func (s *Set) catchUpLocked(now Instant) {
	step := ahead(s.ticked, now)
	if step <= s.period {
		return
	}
	s.queue.hurry(step)
	if first := s.queue.first(); !first.IsZero() {
		s.wakeLocked(first, now)
	}
}

// shortestLocked is the shortest TTL of all live terms, and whether there are any.
func (s *Set) shortestLocked() (shortest time.Duration, ok bool) {
	for t := range s.live {
		if !ok || t.ttl < shortest {
			shortest, ok = t.ttl, true
		}
	}
	return shortest, ok
}
