package owner

import (
	"testing"
	"time"
)

// A machine that has been up for years tells when its processes began, too.
func TestAfterBoot(t *testing.T) {
	t.Parallel()
	for _, want := range []time.Duration{0, time.Hour, 4 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
		if got := afterBoot(int64(want/time.Second) * ticks); got != want {
			t.Errorf("%v is taken for %v", want, got)
		}
	}
}
