package signal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// behind lets another program's waiter block on the name's signal, and returns whether it was given
// one. It waits until the hub reads the name.
func behind(s *store, name string) (got func() bool) {
	b := s.redis.begin([]string{signalOf(name)})
	return func() bool { return s.redis.end(b) != "" }
}

// keepsPlace checks that a signal for the name goes to the hub's waiter and not to one that began to
// block after it.
func keepsPlace(t *testing.T, s *store, name string, w *signal.Waiter, other func() bool) {
	t.Helper()
	s.push(signalOf(name), time.Second)
	time.Sleep(s.rtt)
	if other() {
		t.Error("the signal went to one that began to block later")
		s.push(signalOf(name), time.Second)
	}
	between(t, "the ask", after(t, w), 0, 2*s.rtt)
}

func TestLooksDoNotCostThePlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(500 * ms)
		other := behind(s, "n")
		time.Sleep(29 * time.Second)
		keepsPlace(t, s, "n", w, other)
		w.Leave(true)
	})
}

// Newcomers gather on another connection than a name that has settled.
func TestNewcomersDoNotCostThePlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(1500 * ms)
		other := behind(s, "n")
		var all []*signal.Waiter
		for i := range 60 {
			all = append(all, joinAll(t, s, h, names(fmt.Sprint("new", i), 1))...)
			time.Sleep(300 * ms)
			if open, _ := s.connections(); open > 2 {
				t.Fatalf("%d connections for %d names", open, i+2)
			}
			if i%3 == 0 {
				all[0].Leave(false)
				all = all[1:]
			}
		}
		keepsPlace(t, s, "n", w, other)
		leaveAll(append(all, w))
	})
}

// A name whose signals come all the time does not disturb the one beside it for long.
func TestBusyNameDoesNotCostThePlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w, busy := joinAll(t, s, h, []string{"n"})[0], joinAll(t, s, h, []string{"busy"})[0]
		handOver := func() {
			time.Sleep(100 * ms)
			s.push(signalOf("busy"), time.Second)
			between(t, "the ask", after(t, busy), 0, 5*s.rtt)
			busy.Taken(signal.Forever)
		}
		for range 15 {
			handOver()
		}
		other := behind(s, "n")
		for range 100 {
			handOver()
		}
		keepsPlace(t, s, "n", w, other)
		leaveAll([]*signal.Waiter{w, busy})
	})
}

// A name that settles among newcomers moves over when a read of the others ends anyway.
func TestNameSettlesAmongNewcomers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		first := joinAll(t, s, h, []string{"first"})[0]
		time.Sleep(1500 * ms)
		busy, late := joinAll(t, s, h, []string{"busy"})[0], joinAll(t, s, h, []string{"late"})[0]
		handOver := func() {
			time.Sleep(100 * ms)
			s.push(signalOf("busy"), time.Second)
			after(t, busy)
			busy.Taken(signal.Forever)
		}
		for range 295 { // until the first read has ended
			handOver()
		}
		other := behind(s, "late")
		for range 50 {
			handOver()
		}
		keepsPlace(t, s, "late", late, other)
		leaveAll([]*signal.Waiter{first, busy, late})
	})
}

func TestReadsAreLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 64))
		time.Sleep(5 * time.Minute)
		if n := s.did("block"); n > 11 {
			t.Errorf("%d reads in 5 minutes", n)
		}
		leaveAll(all)
	})
}

// Whatever comes and goes, the connections are as few as promised: counted over the last 5 s, and with
// those that close as soon as they are called back.
func TestConnectionsAreFew(t *testing.T) {
	for seed := range uint64(5) {
		bubbleRun(t, fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			s := newStore()
			h := start(t, s, nil)
			var all []*signal.Waiter
			var counts []int // of names waited for, of the last 5 s
			for step := range 300 {
				for range r.IntN(40) {
					all = append(all, joinAll(t, s, h, names(fmt.Sprintf("n%d-%d-", step, len(all)), 1))...)
				}
				counts = append(counts, len(all))
				if r.IntN(10) == 0 {
					r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					keep := r.IntN(len(all) + 1)
					leaveAll(all[keep:])
					all = all[:keep]
				}
				if len(all) > 0 {
					visit(t, s, all[r.IntN(len(all))])
				}
				counts = counts[max(0, len(counts)-25):]
				most := 0
				for _, n := range counts {
					most = max(most, n)
				}
				time.Sleep(200 * ms)
				if open, _ := s.connections(); open > (most+63)/64+1 {
					t.Fatalf("step %d: %d connections for %d names, %d at most in 5 s", step, open, len(all), most)
				}
			}
			leaveAll(all)
		})
	}
}

// visit lets a waiter ask, if it is to, and hear that the name is taken.
func visit(t *testing.T, s *store, w *signal.Waiter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*s.rtt)
	defer cancel()
	if w.Wait(ctx) == nil {
		w.Taken(signal.Forever)
	}
}

// A connection falls silent: its waiters live by the looks, and by their timers.
func TestHalfOpenConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for offset := range 20 {
			s := newStore()
			s.failing(fails(errHang, "block"))
			h := start(t, s, nil)
			w := joinAll(t, s, h, []string{"n"})[0]
			time.Sleep(time.Second + time.Duration(offset)*50*ms)
			s.release("n")
			between(t, "the ask", after(t, w), 0, time.Second)
			w.Taken(signal.For(30 * ms))
			between(t, "the ask by the timer", after(t, w), 31*ms, 31*ms)
			w.Leave(true)
			s.breakAll()
		}
	})
}

// Many names of one connection are released together. All signals are taken at once.
func TestSignalsAreTakenTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.rtt = 20 * ms
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 64))
		time.Sleep(time.Second)
		for _, name := range names("n", 64) {
			s.release(name)
		}
		freed := time.Now()
		for _, w := range all {
			after(t, w)
			between(t, "the ask", time.Since(freed), 0, s.rtt)
		}
		leaveAll(all)
		time.Sleep(2 * time.Second)
		if given := s.gaveBack(); len(given) != 64 {
			t.Errorf("gave back %d signals, want 64", len(given))
		}
	})
}

// A signal of a name that nobody waits for any more is given back, also when it was taken with others.
func TestSignalTakenForNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"stays", "gone"})
		time.Sleep(500 * ms)
		all[1].Leave(false)
		s.release("stays")
		s.release("gone")
		between(t, "the ask", after(t, all[0]), 0, s.rtt)
		time.Sleep(5 * s.rtt)
		if !s.pending("gone") {
			t.Error("the signal was not given back")
		}
		all[0].Leave(true)
	})
}

// What became of a dial that nobody waits for any more: it is hung up.
func TestDialIsHungUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		for range 10 {
			s.failing(fails(errBroken, "connect"))
			w := joinAll(t, s, h, []string{"n"})[0]
			time.Sleep(time.Second)
			w.Leave(false)
			time.Sleep(6 * time.Second)
			s.mu.Lock()
			if s.dials != 0 {
				t.Errorf("%d dialers of connections that have ended were not hung up", s.dials)
			}
			s.mu.Unlock()
		}
	})
}

// Signals that were read together and that nobody wants are given back together.
func TestSignalsAreGivenBackTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.rtt = 20 * ms
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 64))
		time.Sleep(500 * ms)
		leaveAll(all[:63])
		s.releaseAll(names("n", 63))
		time.Sleep(5 * s.rtt)
		if n := len(s.gaveBack()); n != 63 {
			t.Errorf("%d signals were given back after 5 round trips, want 63", n)
		}
		all[63].Leave(false)
	})
}

// A name that was got by its timer is read until the read ends that its connection does for others. The
// signal of its own release goes to that read, and from there to the next program's waiter.
func TestReadThatOutlivesItsWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		stays := joinAll(t, s, h, []string{"stays"})[0]
		s.hold("n", 500*ms)
		w := join(t, h, "n", signal.For(500*ms))
		between(t, "the ask", after(t, w), 501*ms, 501*ms)
		w.Leave(true)
		time.Sleep(20 * time.Second)
		b := s.redis.begin([]string{signalOf("n")})
		s.release("n")
		began := time.Now()
		<-b.popped
		between(t, "the signal of another program's waiter", time.Since(began), 0, 2*s.rtt)
		stays.Leave(false)
	})
}

// A torn is a store whose connections break when they have told the first of several signals.
type torn struct{ *store }

type tornDialer struct{ signal.Dialer }

type tornConn struct{ signal.Conn }

func (s torn) Dialer(k int) signal.Dialer { return tornDialer{s.store.Dialer(k)} }

func (d tornDialer) Dial() (signal.Conn, error) {
	c, err := d.Dialer.Dial()
	return tornConn{c}, err
}

func (c tornConn) Block(names []signal.Name, d time.Duration) ([]signal.Name, error) {
	signalled, err := c.Conn.Block(names, d)
	if len(signalled) > 1 {
		return signalled[:1], errBroken
	}
	return signalled, err
}

// Signals were taken together, and all but the first got lost with the connection. Who waits is told by a
// look. What may have been a signal for a name that nobody waits for any more is given back.
func TestSignalsAreLostHalfWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := torn{newStore()}
		h := signal.New(s, nil)
		defer h.Close(time.Second)
		all := joinAll(t, s.store, h, names("n", 20))
		time.Sleep(500 * ms)
		leaveAll(all[10:])
		for _, name := range names("n", 20) {
			s.release(name)
		}
		freed := time.Now()
		for _, w := range all[:10] {
			after(t, w)
		}
		between(t, "the asks", time.Since(freed), 0, 300*ms)
		for i, name := range names("n", 20) {
			if i >= 10 && !s.pending(name) {
				t.Errorf("the signal of %s was not given back", name)
			}
		}
		leaveAll(all[:10])
	})
}
