package store

import "time"

// NoExpiry is what is left of what never expires. It is lock.NoExpiry, too.
const NoExpiry time.Duration = -1

// maxTTL is the longest that Redis is believed, 100 years, with which no time of ours overflows.
// Other programs may ask for far more.
const maxTTL = 100 * 365 * 24 * time.Hour

// Millis rounds up to the milliseconds that Redis counts in. A key must not expire before its lease
// has ended, and 0 would be no TTL at all.
func Millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// parseTTL takes in what Redis says a key has left: milliseconds, or a negative number for no
// expiry. Every TTL passes here.
func parseTTL(reply any) (ttl time.Duration, ok bool) {
	ms, ok := reply.(int64)
	if ms < 0 {
		return NoExpiry, ok
	}
	return time.Duration(min(ms, int64(maxTTL/time.Millisecond))) * time.Millisecond, ok
}
