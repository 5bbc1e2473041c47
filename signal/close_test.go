package signal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func TestStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 100))
		all = append(all, joinAll(t, s, h, names("n", 100))...)
		var told []<-chan error
		for _, w := range all {
			told = append(told, wait(t.Context(), w))
		}
		time.Sleep(500 * ms)
		begin := time.Now()
		h.Stop()
		h.Stop()
		synctest.Wait()
		for _, c := range told {
			if err := <-c; !errors.Is(err, signal.ErrClosed) {
				t.Errorf("Wait: %v, want ErrClosed", err)
			}
		}
		between(t, "ErrClosed", time.Since(begin), 0, 0)
		if _, err := h.Join(plain("n0"), signal.Unknown); !errors.Is(err, signal.ErrClosed) {
			t.Errorf("Join: %v, want ErrClosed", err)
		}
		if err := all[0].Wait(t.Context()); !errors.Is(err, signal.ErrClosed) {
			t.Errorf("Wait again: %v, want ErrClosed", err)
		}
		leaveAll(all)
		h.Close(time.Second)
		between(t, "Close", time.Since(begin), 0, 2*s.rtt) // the reads were called back
		if open, _ := s.connections(); open != 0 {
			t.Errorf("%d connections are open", open)
		}
	})
}

func TestCloseOfAnUnusedHub(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := signal.New(newStore(), nil)
		begin := time.Now()
		h.Close(time.Minute)
		h.Close(time.Minute)
		between(t, "Close", time.Since(begin), 0, 0)
	})
}

// Whatever a connection does when the hub is closed, it ends, and soon.
func TestCloseAtAnyTime(t *testing.T) {
	for name, fault := range map[string]func(string, []string) error{
		"healthy":      nil,
		"connecting":   fails(errBroken, "connect"),
		"broken reads": fails(errBroken, "block"),
		"probing":      fails(errPermanent, "block"),
		"degraded":     fails(errNoBlock, "block"),
	} {
		bubbleRun(t, name, func(t *testing.T) {
			for i := range 60 {
				s := newStore()
				s.rtt = 20 * ms
				s.failing(fault)
				h := start(t, s, nil)
				all := joinAll(t, s, h, names("n", 70))
				time.Sleep(time.Duration(i) * 9 * ms)
				begin := time.Now()
				if i%2 == 0 {
					leaveAll(all)
				}
				h.Close(5 * time.Second)
				most := 3 * s.rtt
				if name == "broken reads" {
					most += 70 * s.rtt // each name is given back
				}
				between(t, "Close", time.Since(begin), 0, most)
				if i%2 == 1 {
					leaveAll(all)
				}
			}
		})
	}
}

func TestCloseCutsOffWhatHangs(t *testing.T) {
	for _, op := range []string{"block", "probe"} {
		bubbleRun(t, op, func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			all := joinAll(t, s, h, names("n", 70))
			time.Sleep(500 * ms)
			s.failing(func(o string, _ []string) error {
				switch {
				case o == op:
					return errHang
				case o == "block" && op == "probe":
					return errPermanent
				}
				return nil
			})
			all = append(all, joinAll(t, s, h, []string{"more"})...) // a new turn
			time.Sleep(2 * time.Second)
			leaveAll(all)
			begin := time.Now()
			h.Close(700 * ms)
			between(t, "Close", time.Since(begin), 700*ms, 720*ms)
		})
	}
}

// A look that hangs does not keep Close waiting.
func TestCloseDuringALook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(fails(errHang, "look"))
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 70))
		time.Sleep(500 * ms)
		leaveAll(all)
		begin := time.Now()
		h.Close(time.Second)
		between(t, "Close", time.Since(begin), 0, s.rtt)
	})
}

func TestSignalsAreGivenBackAtClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(500 * ms)
		s.release("n")
		after(t, w)
		h.Stop()
		w.Leave(false)
		h.Close(time.Second)
		if !s.pending("n") {
			t.Error("the signal was not given back")
		}
	})
}

func TestLeavingAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(500 * ms)
		s.push(signalOf("n"), time.Second)
		after(t, w)
		h.Close(time.Second)
		before := s.did()
		w.Leave(false)
		time.Sleep(time.Second)
		if n := s.did() - before; n != 0 {
			t.Errorf("%d commands after Close", n)
		}
	})
}

func TestGivingBackIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		loseOne(t, s, h)
		s.failing(fails(errBroken, "give"))
		time.Sleep(2 * time.Second)
		if n := s.did("give"); n < 2000/202 || n > 2000/20 {
			t.Errorf("%d attempts in 2 s", n)
		}
		s.failing(nil)
		time.Sleep(300 * ms)
		if given := s.gaveBack(); len(given) != 1 {
			t.Errorf("gave back %q, want it once", given)
		}
		loseOne(t, s, h)
		s.failing(fails(errBroken, "give"))
		time.Sleep(31 * time.Second)
		n := s.did("give")
		time.Sleep(time.Minute)
		if more := s.did("give") - n; more != 0 {
			t.Errorf("%d attempts after half a minute", more)
		}
		loseOne(t, s, h)
		s.failing(fails(errPermanent, "give"))
		n = s.did("give")
		time.Sleep(time.Second)
		if more := s.did("give") - n; more > 1 {
			t.Errorf("%d attempts after a permanent error", more)
		}
	})
}

// loseOne lets a waiter leave with a signal.
func loseOne(t *testing.T, s *store, h *signal.Hub) {
	t.Helper()
	w := joinAll(t, s, h, []string{"n"})[0]
	time.Sleep(500 * ms)
	s.push(signalOf("n"), time.Second)
	after(t, w)
	w.Leave(false)
}

func TestCloseEndsGivingBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		s.failing(fails(errBroken, "give"))
		loseOne(t, s, h)
		time.Sleep(500 * ms)
		begin := time.Now()
		h.Close(time.Minute)
		between(t, "Close", time.Since(begin), 0, 3*s.rtt)
	})
}

// Many signals, which take long to give back, some together: Close keeps to its limit.
func TestCloseEndsGivingBackSlowly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 240))
		time.Sleep(500 * ms)
		for _, name := range names("n", 240) {
			s.push(signalOf(name), time.Second)
		}
		time.Sleep(100 * ms)
		s.giveTakes(time.Second)
		leaveAll(all)
		begin := time.Now()
		h.Close(2500 * ms)
		between(t, "Close", time.Since(begin), 2500*ms, 3500*ms)
	})
}

// Another signal for the same name, left at the very instant of the first, but after its attempt
// began: two signals, two attempts.
func TestTwoSignalsGivenBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.rtt = 0
		s.giveTakes(100 * ms)
		h := start(t, s, nil)
		time.Sleep(10 * ms)
		for range 2 {
			w := joinAll(t, s, h, []string{"n"})[0]
			synctest.Wait()
			s.push(signalOf("n"), time.Second)
			synctest.Wait()
			w.Leave(false)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if given := s.gaveBack(); len(given) != 2 {
			t.Errorf("gave back %q, want it twice", given)
		}
	})
}

// Everything at once, for the race detector: joins, cancellations, signals, breaks, Stop and Close.
func TestCloseUnderLoad(t *testing.T) {
	for seed := range 20 {
		bubbleRun(t, fmt.Sprint(seed), func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					name := fmt.Sprintf("n%d", i%90)
					for {
						w, err := h.Join(plain(name), signal.Unknown)
						if err != nil {
							return
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%37)*ms)
						for w.Wait(ctx) == nil {
							w.Taken(signal.For(time.Duration(i%11) * ms))
						}
						cancel()
						w.Leave(i%3 == 0)
						time.Sleep(ms)
						s.push(signalOf(name), time.Second)
					}
				})
			}
			wg.Go(func() {
				for range 5 {
					time.Sleep(20 * ms)
					s.breakAll()
				}
				h.Close(time.Duration(seed) * 100 * time.Microsecond)
				h.Close(time.Second)
			})
			wg.Wait()
			if open, _ := s.connections(); open != 0 {
				t.Errorf("%d connections are open", open)
			}
		})
	}
}

// A connection that blocks when another one learns that the store refuses blocking reads is called back
// like any other.
func TestCloseWhileDegradedAndBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		first := joinAll(t, s, h, []string{"first"})[0]
		time.Sleep(1500 * ms)
		s.failing(fails(errNoBlock, "block"))
		second := joinAll(t, s, h, []string{"second"})[0]
		time.Sleep(1500 * ms)
		if n := s.redis.readers()["lock-signal:first"]; n != 1 {
			t.Fatalf("%d read the first name", n)
		}
		leaveAll([]*signal.Waiter{first, second})
		begin := time.Now()
		h.Close(5 * time.Second)
		between(t, "Close", time.Since(begin), 0, 10*s.rtt)
	})
}

// A dialers counts the connections that a hub begins to make.
type dialers struct {
	*store
	began atomic.Int32
}

func (d *dialers) Dialer(k int) signal.Dialer {
	d.began.Add(1)
	return d.store.Dialer(k)
}

// A head that hears its answer when the hub is closed already makes no connection.
func TestNothingStartsAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &dialers{store: newStore()}
		h := signal.New(s, nil)
		w := join(t, h, "n", signal.Unknown)
		after(t, w)
		time.Sleep(100 * ms)
		h.Close(time.Second)
		w.Taken(signal.For(time.Second))
		synctest.Wait()
		if n := s.began.Load(); n != 1 {
			t.Errorf("%d connections were begun, want 1", n)
		}
		w.Leave(false)
	})
}
