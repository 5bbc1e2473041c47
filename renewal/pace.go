package renewal

import "time"

const (
	maxPeriod = time.Second      // between two looks at the wall clock, which is TTL/10 otherwise
	minPeriod = time.Millisecond // whatever the TTL

	// maxTimer is how far ahead a timer is set. What is further ahead is looked at anew then.
	maxTimer = 24 * time.Hour
)

// A pace says how often the wall clock is looked at, and whether the timers know what it says. It is
// guarded by the Set's mutex.
type pace struct {
	live   [classes]int  // how many live terms there are in each class of TTLs
	origin Instant       // when the first term came; how far ahead the wall clock is counts from here
	lowest time.Duration // the least that it was ahead since all timers were set
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

// setLocked takes note that a timer was set at now. The timer runs by the monotonic clock. It fires
// in time by both as long as the wall clock gets no further ahead than it is now.
func (p *pace) setLocked(now Instant) {
	if p.origin == (Instant{}) {
		p.origin = now
	}
	p.lowest = min(p.lowest, ahead(p.origin, now))
}

// outdatedLocked reports whether a timer may be late by now, because the wall clock ran ahead since
// it was set. The caller sets all timers then, so that they count as set at now.
//
// The least that the clock was ahead is what counts, not what it was at the last look. A timer may
// have been set after a step back of which no look ever saw anything.
func (p *pace) outdatedLocked(now Instant) bool {
	by := ahead(p.origin, now)
	if by-p.lowest < minPeriod {
		return false
	}
	p.lowest = by
	return true
}
