package signal_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

const ms = time.Millisecond

func TestTimerAtTheEndOfTheLease(t *testing.T) {
	tests := []struct {
		name string
		held time.Duration // as Redis has it
		told signal.Left   // as the waiter was told when it joined
	}{
		{"as told", 350 * ms, signal.For(350 * ms)},
		{"longer than told", 850 * ms, signal.For(100 * ms)},
		{"shorter than told", 350 * ms, signal.For(time.Hour)},
		{"not for ever", 350 * ms, signal.Forever},
		{"over many looks", time.Minute, signal.For(time.Minute)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStore()
				s.hold("n", test.held)
				h := start(t, s, nil)
				w := join(t, h, "n", test.told)
				between(t, "the ask", after(t, w), test.held+ms, test.held+3*ms)
				w.Leave(true)
			})
		})
	}
}

func TestTimerIsExact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(func(op string, _ []string) error {
			if op == "look" { // so that none interferes
				return errHang
			}
			return nil
		})
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Unknown)
		after(t, w)
		w.Taken(signal.For(123 * ms))
		between(t, "the ask", after(t, w), 124*ms, 124*ms)
		w.Taken(signal.For(0))
		between(t, "the ask after a PTTL of 0", after(t, w), ms, ms)
		w.Leave(true)
	})
}

func TestTakenForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", 400*ms)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Unknown)
		after(t, w)
		w.Taken(signal.For(400 * ms))
		s.hold("n", -1) // made permanent
		told := wait(t.Context(), w)
		time.Sleep(10 * time.Minute)
		silent(t, told)
		s.release("n")
		<-told
		w.Leave(true)
	})
}

// A look that was asked before a head heard its answer may bring the expiry nearer, not put it off.
func TestOlderLookDoesNotOverrideTheAnswer(t *testing.T) {
	for _, held := range []time.Duration{time.Hour, -1} {
		bubbleRun(t, held.String(), func(t *testing.T) {
			s := newStore()
			s.rtt = 200 * ms
			s.hold("n", held)
			h := start(t, s, nil)
			w := join(t, h, "n", signal.For(300*ms)) // connected at 200 ms, the look is back at 400 ms
			after(t, w)
			time.Sleep(49 * ms)
			w.Taken(signal.For(100 * ms))
			between(t, "the ask", after(t, w), 101*ms, 101*ms)
			w.Leave(true)
		})
	}
}

func TestOlderLookBringsTheExpiryNearer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.rtt = 200 * ms
		s.hold("n", 500*ms)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.For(300*ms)) // as above
		after(t, w)
		time.Sleep(49 * ms)
		w.Taken(signal.For(time.Hour))
		between(t, "the ask", after(t, w), 150*ms, 260*ms)
		w.Leave(true)
	})
}

// bubbleRun is bubble as a subtest.
func bubbleRun(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { bubble(t, test) })
}

func TestLookFindsWhatNoSignalTold(t *testing.T) {
	for name, change := range map[string]func(*store){
		"free":    func(s *store) { s.vanish("n") },
		"foreign": func(s *store) { s.redis.mu.Lock(); s.foreign["n"] = true; s.redis.mu.Unlock() },
	} {
		bubbleRun(t, name, func(t *testing.T) {
			for offset := range 20 {
				s := newStore()
				s.hold("n", -1)
				h := start(t, s, nil)
				w := join(t, h, "n", signal.Forever)
				time.Sleep(time.Second + time.Duration(offset)*50*ms)
				change(s)
				between(t, "the ask", after(t, w), 0, time.Second)
				w.Leave(true)
			}
		})
	}
}

// No second passes without a look, even if the connection is called back all the time.
func TestLooksGoOnWhenNamesComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		s.hold("other", -1)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Forever)
		last := time.Now()
		for range 1000 {
			o := join(t, h, "other", signal.Forever)
			time.Sleep(7 * ms)
			o.Leave(false)
			time.Sleep(6 * ms)
			for _, look := range s.lastLooks() {
				if look.Waiters != nil {
					between(t, "from one full look to the next", time.Since(last), 0, time.Second)
					last = time.Now()
				}
			}
		}
		between(t, "since the last full look", time.Since(last), 0, time.Second)
		w.Leave(false)
	})
}

func TestIdleWaitingIsCheap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		var all []*signal.Waiter
		for _, name := range names("n", 64) {
			s.hold(name, -1)
			all = append(all, join(t, h, name, signal.Forever))
		}
		time.Sleep(10 * time.Second)
		before := s.did()
		time.Sleep(time.Minute)
		if n := s.did() - before; n > 3*60 {
			t.Errorf("%d commands in a minute, want 3 per second at most", n)
		}
		leaveAll(all)
	})
}
