package doctor

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Clocks are compared in the middle of the quickest round trip, and only as well as that tells.
func TestClockDifference(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(rtt, ahead time.Duration) store.Clock {
		return store.Clock{Server: start.Add(rtt/2 + ahead), Sent: start, Heard: start.Add(rtt)}
	}
	for _, test := range []struct {
		name  string
		times []store.Clock
		want  Level
	}{
		{"equal", []store.Clock{at(time.Millisecond, 0)}, OK},
		{"a little", []store.Clock{at(time.Millisecond, -900*time.Millisecond)}, OK},
		{"ahead", []store.Clock{at(time.Millisecond, 1100*time.Millisecond)}, Advice},
		{"behind", []store.Clock{at(time.Millisecond, -1100*time.Millisecond)}, Advice},
		{"too slow to say", []store.Clock{at(time.Second, 1100*time.Millisecond)}, Unknown},
		{"too slow to say it is well", []store.Clock{at(time.Second, 900*time.Millisecond)}, Unknown},
		{"slow, and far", []store.Clock{at(time.Second, time.Minute)}, Advice},
		{"the quickest counts", []store.Clock{at(time.Second, time.Minute), at(time.Millisecond, 0)}, OK},
		{"refused", []store.Clock{{Sent: start, Heard: start, Refused: redis.Error("NOPERM")}}, Unknown},
	} {
		x := &examination{times: test.times}
		if got := x.clock(); got.Level != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
