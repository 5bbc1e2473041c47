package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
)

const (
	// MaxTTL bounds every time that users may ask for.
	MaxTTL = 366 * 24 * time.Hour
	// MaxTTLText is how errors call MaxTTL, which would print as hours.
	MaxTTLText = "366 days"
	// NoExpiryTTL is what is taken with that is not to expire, before it is made permanent, and
	// what it gets back when it is left to expire.
	NoExpiryTTL = janitor.LetExpire
	// minMargin is what a timer may be late on a busy machine.
	minMargin = 10 * time.Millisecond
	// forEver is for what is tried until the engine is closed.
	forEver = 100 * 365 * 24 * time.Hour
)

// Settings are what an acquisition goes by. They are valid: whoever makes them has checked them.
type Settings struct {
	TTL       time.Duration // without expiry: what it is taken with
	NoExpiry  bool
	Margin    time.Duration // 0: the default for the TTL of the moment
	NoRenewal bool
	MaxHold   time.Duration // 0: none
	AtLeast   time.Duration // for how long nobody else gets it, from when it was handed out
	NoFence   bool
	Signal    time.Duration // how long the signal of its release waits for a waiter
	Label     string        // of fresh ids
}

// MarginFor returns the margin of a lease with this TTL.
func (s *Settings) MarginFor(ttl time.Duration) time.Duration {
	if s.Margin != 0 {
		return s.Margin
	}
	return defaultMargin(ttl)
}

// defaultMargin is the share of a TTL that is given up for clocks and timers that are not exact,
// and for the job to stop. Close waits for it, so it does not grow with long TTLs beyond what
// clocks need. NTP slews a clock by at most 0.05 % (RFC 5905), so two clocks that it keeps drift
// apart by 0.1 % at most.
func defaultMargin(ttl time.Duration) time.Duration {
	return max(min(ttl/20, max(time.Minute, ttl/1000)), minMargin)
}
