package engine

import (
	"testing"
	"time"
)

// The default margin allows for clocks that drift apart by 0.1 %, whatever the TTL.
func TestDefaultMargin(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for ttl, want := range map[time.Duration]time.Duration{
		50 * time.Millisecond: 10 * time.Millisecond,
		30 * time.Second:      1500 * time.Millisecond,
		20 * time.Minute:      time.Minute,
		10 * time.Hour:        time.Minute,
		day:                   day / 1000,
		366 * day:             366 * day / 1000,
	} {
		if got := defaultMargin(ttl); got != want || got < ttl/1000 {
			t.Errorf("TTL %v: margin %v, want %v", ttl, got, want)
		}
	}
}
