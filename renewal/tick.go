package renewal

import "time"

// A pace says how often the wall clock is looked at, and whether the timers know what it says. It is
// guarded by the Set's mutex.
type pace struct {
	live   [classes]int  // how many live terms there are in each class of TTLs
	origin Instant       // ahead is counted from here; when the first term came
	lowest time.Duration // how far ahead the wall clock was when it was least so, since all timers were set
}

// addLocked counts a term of length ttl in (1) or out (-1).
func (p *pace) addLocked(ttl time.Duration, n int) { p.live[classOf(ttl)] += n }

// shortestLocked is the least TTL that a live term may have, and whether there are any.
func (p *pace) shortestLocked() (time.Duration, bool) {
	for k, n := range p.live {
		if n > 0 {
			return 1 << max(k-1, 0), true
		}
	}
	return 0, false
}

// setLocked takes note that a timer was set at now. It fires when either clock reaches its deadline as
// long as the wall clock is not further ahead of the monotonic one than it is now.
func (p *pace) setLocked(now Instant) {
	if p.origin == (Instant{}) {
		p.origin = now
	}
	p.lowest = min(p.lowest, ahead(p.origin, now))
}

// outdatedLocked reports whether a timer may be late by now, because the wall clock ran ahead since it was
// set. If one may be, the caller sets all of them.
func (p *pace) outdatedLocked(now Instant) bool {
	by := ahead(p.origin, now)
	if by-p.lowest < minPeriod {
		return false
	}
	p.lowest = by
	return true
}

// tickForLocked sees to it that the wall clock is looked at often enough for a term of length ttl:
// each second, and at least each tenth of the shortest TTL. A term's own timer cannot do that, as it runs
// by the monotonic clock and stands still with it while the machine sleeps.
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

// tick ends the terms whose validUntil has passed by the wall clock, sets the timers of the others by it,
// and brings their renewals forward by as much as the wall clock ran ahead. Only if it did, all terms are
// looked at. It comes again while terms live. A tick that a Reset or Close could not stop any more does
// no harm.
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

// catchUpLocked brings renewals forward after a forward step of the wall clock: what counts is the
// larger of both, so they are due that much earlier. Steps below a period are left to the share of
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
