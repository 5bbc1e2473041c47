package chaos

import (
	"testing"
	"testing/synctest"
	"time"
)

// What the process did not do while the machine gave it no time is not its fault.
func TestPulse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		rec := &recorder{began: time.Now(), h: new(History)}
		p := &pulse{rec: rec}
		if _, ok := p.beat(rec.now()); ok {
			t.Error("a stall before the first beat")
		}
		time.Sleep(10 * ms)
		p.beat(rec.now())
		time.Sleep(249 * ms)
		if _, ok := p.beat(rec.now()); ok {
			t.Error("249 ms are a stall")
		}
		time.Sleep(2 * time.Second)
		if f, ok := p.beat(rec.now()); !ok || f.Client != -1 || f.From != 259*ms || f.To != 2259*ms {
			t.Errorf("stall %+v, %v", f, ok)
		}
		time.Sleep(time.Second) // goes on
		for since, want := range map[time.Duration]time.Duration{
			0: 3 * time.Second, 1259 * ms: 2 * time.Second, 2259 * ms: time.Second, 3259 * ms: 0,
		} {
			if got := p.stalled(since); got != want {
				t.Errorf("stalled since %v for %v, want %v", since, got, want)
			}
		}
	})
}
