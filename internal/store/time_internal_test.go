package store

import (
	"math"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// FuzzTTL checks that whatever Redis says of a TTL is taken in, and becomes no time that overflows.
func FuzzTTL(f *testing.F) {
	for _, pttl := range []int64{
		-4, -3, -2, -1, 0, 1, 1000, 9223372036854, 9223372036855, 1 << 62, math.MaxInt64, math.MinInt64,
	} {
		f.Add(pttl)
	}
	f.Fuzz(func(t *testing.T, pttl int64) {
		ttl, ok := parseTTL(pttl)
		want := NoExpiry
		if pttl >= 0 {
			want = time.Duration(min(pttl, 100*365*24*3600*1000)) * time.Millisecond
		}
		if ttl != want || !ok {
			t.Errorf("a PTTL of %d ms becomes %v, %v, want %v", pttl, ttl, ok, want)
		}
		wantLeft, good := signal.For(want), pttl >= -2
		switch {
		case pttl == -1:
			wantLeft = signal.Forever
		case pttl == -2:
			wantLeft = signal.Free
		case pttl < 0:
			wantLeft = signal.Unknown
		}
		if left, err := parseLeft(pttl); left != wantLeft || good != (err == nil) {
			t.Errorf("a look that finds %d ms becomes %v, %v, want %v", pttl, left, err, wantLeft)
		}
	})
}
