package signal_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

func leaveAll(all []*signal.Waiter) {
	for _, w := range all {
		w.Leave(false)
	}
}

// joinAll joins the queues of names that are held for ever.
func joinAll(t *testing.T, s *store, h *signal.Hub, names []string) []*signal.Waiter {
	t.Helper()
	var all []*signal.Waiter
	for _, name := range names {
		s.hold(name, -1)
		all = append(all, join(t, h, name, signal.Forever))
	}
	return all
}

func TestNamesPerConnection(t *testing.T) {
	for _, test := range []struct{ names, conns int }{{1, 1}, {64, 1}, {65, 2}, {128, 2}, {129, 3}, {1000, 16}} {
		bubbleRun(t, fmt.Sprint(test.names), func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			all := joinAll(t, s, h, names("n", test.names))
			all = append(all, joinAll(t, s, h, names("n", test.names))...) // second waiters
			time.Sleep(20 * time.Second)
			if open, most := s.connections(); open != test.conns || most != test.conns {
				t.Errorf("%d connections, %d at most, want %d", open, most, test.conns)
			}
			for _, name := range names("n", test.names) {
				if n := s.readers()[signalOf(name)]; n != 1 {
					t.Fatalf("%s is read by %d", name, n)
				}
			}
			leaveAll(all)
		})
	}
}

func TestReadsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(func(op string, names []string) error {
			if op == "block" && len(names) > 64 {
				t.Errorf("a read of %d names", len(names))
			}
			return nil
		})
		h := start(t, s, nil)
		for range 50 {
			all := joinAll(t, s, h, names("n", rand.IntN(300)))
			time.Sleep(rand.N(4 * time.Second))
			leaveAll(all)
		}
	})
}

func TestOneWakeUpPerTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.rtt = 10 * ms
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("first", 1))
		time.Sleep(500 * ms)
		before := s.did("wake")
		all = append(all, joinAll(t, s, h, names("more", 60))...)
		time.Sleep(5 * s.rtt)
		if n := s.did("wake") - before; n != 1 {
			t.Errorf("%d wake-ups for 60 new names at once, want 1", n)
		}
		if n := s.readers()[signalOf("more59")]; n != 1 {
			t.Errorf("the last new name is read by %d after 5 round trips", n)
		}
		leaveAll(all)
	})
}

// A wake-up that is lost is repeated. Until then a look serves the new name.
func TestLostWakeUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.setDeaf(true)
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"first"})
		time.Sleep(500 * ms)
		w := joinAll(t, s, h, []string{"n"})[0]
		s.vanish("n")
		between(t, "the ask", after(t, w), 0, time.Second)
		s.hold("n", -1)
		w.Taken(signal.Forever)
		s.setDeaf(false)
		time.Sleep(1500 * ms)
		s.push(signalOf("n"), time.Second)
		between(t, "the ask", after(t, w), 0, 2*s.rtt)
		leaveAll(append(all, w))
	})
}

func TestIdleConnectionCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"n"})
		time.Sleep(10 * ms)
		leaveAll(all)
		time.Sleep(3900 * ms)
		if open, _ := s.connections(); open != 1 {
			t.Errorf("%d connections after 4 s, want 1", open)
		}
		time.Sleep(time.Second)
		if open, _ := s.connections(); open != 0 {
			t.Errorf("%d connections after 5 s, want none", open)
		}
		s.hold("n", -1)
		w := join(t, h, "n", signal.Forever)
		time.Sleep(10 * ms)
		s.release("n")
		between(t, "the ask on a new connection", after(t, w), 0, 2*ms)
		w.Leave(true)
	})
}

func TestIdleConnectionIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		for range 20 {
			w := joinAll(t, s, h, []string{"n"})[0]
			time.Sleep(10 * ms)
			s.release("n")
			between(t, "the ask", after(t, w), 0, 2*ms)
			w.Leave(true)
			time.Sleep(3900 * ms)
		}
		if n := s.did("connect"); n != 1 {
			t.Errorf("connected %d times, want once", n)
		}
	})
}

func TestGroupsDoNotMix(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.group = func(name string) string { return name[:1] }
		s.failing(func(op string, names []string) error {
			for _, name := range names {
				if name[:1] != names[0][:1] {
					t.Errorf("%s of %q", op, names)
				}
			}
			return nil
		})
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("a", 40))
		all = append(all, joinAll(t, s, h, names("b", 70))...)
		all = append(all, joinAll(t, s, h, names("c", 1))...)
		time.Sleep(20 * time.Second)
		if open, _ := s.connections(); open != 4 {
			t.Errorf("%d connections, want 1 for a, 2 for b, 1 for c", open)
		}
		leaveAll(all[50:])
		time.Sleep(8 * time.Second)
		if open, _ := s.connections(); open != 2 {
			t.Errorf("%d connections, want 1 for a and 1 for b", open)
		}
		leaveAll(all[:50])
	})
}

func TestHandOver(t *testing.T) {
	for _, stay := range []int{1, 40, 64, 65, 128} {
		bubbleRun(t, fmt.Sprint(stay), func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			all := joinAll(t, s, h, names("n", 200))
			time.Sleep(time.Second)
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			leaveAll(all[stay:])
			time.Sleep(20 * time.Second)
			if open, _ := s.connections(); open > (stay+63)/64+1 {
				t.Errorf("%d connections for %d names", open, stay)
			}
			if looks := lookedAt(s.lastLooks()); looks < stay {
				t.Errorf("%d of %d names were looked at", looks, stay)
			}
			leaveAll(all[:stay])
		})
	}
}

func lookedAt(looks []signal.Look) int {
	seen := make(map[signal.Name]bool)
	for _, l := range looks {
		for _, name := range l.Names {
			seen[name] = true
		}
	}
	return len(seen)
}

func TestHandOverTakesFiveSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 20 {
			s := newStore()
			h := start(t, s, nil)
			all := joinAll(t, s, h, names("n", 192)) // three connections
			time.Sleep(time.Second + rand.N(time.Second))
			for i := range 3 {
				leaveAll(all[i*64 : i*64+50]) // 14 are left on each
			}
			time.Sleep(5 * time.Second)
			if open, _ := s.connections(); open != 2 {
				t.Errorf("%d connections after 5 s, want 2", open)
			}
			for i := range 3 {
				leaveAll(all[i*64+50 : i*64+64])
			}
		}
	})
}

// While names are handed over, and at any other time, a signal leads to an ask within a few round
// trips. The locks stay held, so that it is the signals that do it, and no look.
func TestNoSignalIsLostInHandOver(t *testing.T) {
	for seed := range uint64(20) {
		bubbleRun(t, fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newStore()
			s.rtt = time.Duration(1+r.IntN(5)) * ms
			h := start(t, s, nil)
			all := joinAll(t, s, h, names("n", 130+r.IntN(60)))
			time.Sleep(time.Second)
			keep := 20 + r.IntN(44)
			leaveAll(all[keep:])
			var wg sync.WaitGroup
			for i, w := range all[:keep] {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
						time.Sleep(time.Duration(500+r.IntN(2000)) * ms)
						s.push(signalOf(fmt.Sprintf("n%d", i)), time.Second)
						between(t, "the ask", after(t, w), 0, 5*s.rtt)
						w.Taken(signal.Forever)
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Second)
			if open, _ := s.connections(); open > 2 {
				t.Errorf("%d connections, want 2 at most", open)
			}
			leaveAll(all[:keep])
			time.Sleep(time.Second)
			if given := s.gaveBack(); len(given) != 0 {
				t.Errorf("gave back %q, want none", given)
			}
		})
	}
}
