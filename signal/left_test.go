package signal_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func TestLeft(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		left  signal.Left
		time  time.Duration
		timed bool
	}{
		"1.5s":     {signal.For(1500 * ms), 1500 * ms, true},
		"0s":       {signal.For(-time.Hour), 0, true},
		"free":     {signal.Free, 0, false},
		"for ever": {signal.Forever, 0, false},
		"foreign":  {signal.Foreign, 0, false},
		"unknown":  {signal.Left{}, 0, false},
	}
	for text, test := range tests {
		if got, timed := test.left.Time(); got != test.time || timed != test.timed {
			t.Errorf("%s: its time is %v, %v, want %v, %v", text, got, timed, test.time, test.timed)
		}
		if got := test.left.String(); got != text {
			t.Errorf("its text is %q, want %q", got, text)
		}
		if (test.left == signal.Unknown) != (text == "unknown") {
			t.Errorf("%s: whether it equals Unknown is wrong", text)
		}
	}
}
