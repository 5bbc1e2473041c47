package renewal

import (
	"math"
	"time"
)

// forever is more than anything that is to be timed; a deadline further ahead than that is never.
const forever = time.Duration(1 << 61) // 73 years

// never is a deadline that does not pass, whatever the clocks do.
var never = Instant{never: true}

// An Instant is one reading of both clocks. Time since then is the larger of what the monotonic
// and the wall clock say. The former stands still while the machine sleeps (golang/go#24595), the
// latter can be set back. The zero Instant lies so far back that every term sent then has expired.
// Get one from [Now], before a command is sent. Instants are values: copy and share them freely.
type Instant struct {
	mono  time.Time     // as time.Now gave it, compared by its monotonic reading
	wall  time.Duration // since the Unix epoch, by the wall clock
	never bool          // a deadline that never passes; the others are zero then
}

// Now reads both clocks. It does not block.
func Now() Instant { return At(time.Now()) }

// At is the instant at which t was read by time.Now, which reads both clocks. t must have its
// monotonic reading still.
func At(t time.Time) Instant { return Instant{mono: t, wall: time.Duration(t.UnixNano())} }

// Time is the instant as a [time.Time] with a monotonic reading, as time.Now would have given it.
func (i Instant) Time() time.Time { return i.mono }

// add is the instant d later by both clocks. The sum does not overflow, as what lies too far ahead
// for that is never.
func (i Instant) add(d time.Duration) Instant {
	if i.never || d > forever {
		return never
	}
	return Instant{mono: i.mono.Add(d), wall: i.wall + d}
}

// left is how long a deadline i is ahead of now, by the clock that reaches it first. A deadline
// has passed if nothing is left: at the very instant of validUntil a term is not valid any more.
func (i Instant) left(now Instant) time.Duration {
	if i.never {
		return math.MaxInt64
	}
	return min(i.mono.Sub(now.mono), i.wall-now.wall)
}

// earliest is a deadline that passes as soon as one of the two does, by either clock.
//
// To take one of them whole would not do. If the wall clock was set between the readings, the one may be
// earlier by the monotonic clock and the other by the wall clock.
func earliest(a, b Instant) Instant {
	if a.never {
		return b
	}
	if b.never {
		return a
	}
	if b.mono.Before(a.mono) {
		a.mono = b.mono
	}
	a.wall = min(a.wall, b.wall)
	return a
}

// ahead is by how much the wall clock ran ahead of the monotonic one between then and now; it is
// negative after a step back.
func ahead(then, now Instant) time.Duration {
	return (now.wall - then.wall) - now.mono.Sub(then.mono)
}
