package signal_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func TestOneBadName(t *testing.T) {
	for name, ops := range map[string][]string{
		"read": {"block", "probe"},
		"look": {"look", "probe"},
		"both": {"look", "block", "probe"},
	} {
		bubbleRun(t, name, func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			good := joinAll(t, s, h, names("n", 20))
			time.Sleep(500 * ms)
			s.failing(badName("bad", errPermanent, ops...))
			bad := joinAll(t, s, h, []string{"bad", "bad"})
			begin, before := time.Now(), s.did()
			for _, w := range bad {
				if err := w.Wait(t.Context()); !errors.Is(err, errPermanent) {
					t.Errorf("Wait: %v, want the error of the name", err)
				}
				w.Taken(signal.For(time.Second)) // changes nothing
				w.Leave(false)
			}
			most := 40 * ms
			if name == "look" {
				most += time.Second // until the next one
			}
			between(t, "until the error", time.Since(begin), 0, most)
			if h.Queued(plain("bad")) {
				t.Error("the bad name is queued still")
			}
			told := wait(t.Context(), good[0])
			time.Sleep(2 * time.Second)
			silent(t, told)
			s.push(signalOf("n0"), time.Second)
			synctest.Wait()
			time.Sleep(2 * s.rtt)
			if err := <-told; err != nil {
				t.Errorf("another name: %v", err)
			}
			if n := s.did() - before; n > 40 {
				t.Errorf("%d commands in 2 s", n)
			}
			if n := s.did("connect"); n != 1 {
				t.Errorf("connected %d times, want once", n)
			}
			leaveAll(good)
		})
	}
}

// A signal that a probe reads is not lost, nor one that was told to a waiter of the bad name.
func TestProbeReadsASignal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		bad := joinAll(t, s, h, []string{"bad"})[0]
		good := joinAll(t, s, h, []string{"good"})[0]
		time.Sleep(500 * ms)
		s.push(signalOf("bad"), time.Second)
		after(t, bad)
		s.push(signalOf("good"), time.Second)
		s.failing(badName("bad", errPermanent, "block", "probe"))
		between(t, "the ask", after(t, good), 0, 6*ms)
		if err := bad.Wait(t.Context()); !errors.Is(err, errPermanent) {
			t.Errorf("Wait: %v", err)
		}
		bad.Leave(false)
		good.Leave(true)
		time.Sleep(10 * ms)
		if given := s.gaveBack(); !slices.Equal(given, []string{"bad"}) {
			t.Errorf("gave back %q, want the signal of the bad name", given)
		}
	})
}

// A permanent error of the whole, of which no name is guilty, must not make the hub spin.
func TestPermanentErrorOfNoName(t *testing.T) {
	for _, op := range []string{"block", "look"} {
		bubbleRun(t, op, func(t *testing.T) {
			s := newStore()
			h := start(t, s, nil)
			w := joinAll(t, s, h, []string{"n"})[0]
			time.Sleep(10 * ms)
			s.failing(func(o string, names []string) error {
				if o == op && len(names) > 1 {
					return errPermanent
				}
				return nil
			})
			joinAll(t, s, h, []string{"other"})
			before := s.did()
			time.Sleep(20 * time.Second)
			if n := s.did() - before; n > 20*7 {
				t.Errorf("%d commands in 20 s", n)
			}
			s.vanish("n")
			between(t, "the ask", after(t, w), 0, 1100*ms)
			if errs := w.Trouble(); len(errs) != 1 || !errors.Is(errs[0], errPermanent) {
				t.Errorf("trouble: %v", errs)
			}
			w.Leave(true)
		})
	}
}

func TestConnectionBreaksWhileProbing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(10 * ms)
		s.failing(func(op string, _ []string) error {
			switch op {
			case "block":
				return errPermanent
			case "probe":
				return errBroken
			}
			return nil
		})
		other := joinAll(t, s, h, []string{"other"})[0] // a new turn
		time.Sleep(time.Second)
		s.failing(nil)
		other.Leave(false)
		w.Leave(false)
		time.Sleep(10 * ms)
		if given := s.gaveBack(); len(given) == 0 {
			t.Errorf("gave back %q, want the name that the broken probe may have read", given)
		}
	})
}

func TestPermanentErrorOfConnecting(t *testing.T) {
	for _, err := range []error{errPermanent, errNoBlock} {
		bubbleRun(t, err.Error(), func(t *testing.T) {
			s := newStore()
			s.failing(fails(err, "connect"))
			h := start(t, s, nil)
			for _, w := range joinAll(t, s, h, names("n", 5)) {
				if got := w.Wait(t.Context()); !errors.Is(got, err) {
					t.Errorf("Wait: %v, want %v", got, err)
				}
				w.Leave(false)
			}
			time.Sleep(10 * time.Second)
			if n := s.did("connect"); n != 1 {
				t.Errorf("connected %d times, want once", n)
			}
		})
	}
}

func TestNoBlockingReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(fails(errNoBlock, "block"))
		var hooks atomic.Int64
		h := start(t, s, &signal.Options{Degraded: func(error) { hooks.Add(1) }})
		all := joinAll(t, s, h, names("n", 100)) // on two connections
		w := all[0]
		time.Sleep(10 * time.Second)
		if n := hooks.Load(); n != 1 {
			t.Errorf("%d hooks, want one", n)
		}
		before := s.did()
		time.Sleep(10 * time.Second)
		if n := s.did() - before; n > 2*12 {
			t.Errorf("%d commands in 10 s", n)
		}
		s.release("n0")
		between(t, "the ask", after(t, w), 0, time.Second)
		w.Taken(signal.For(30 * ms))
		s.hold("n0", 30*ms)
		between(t, "the ask by the timer", after(t, w), 31*ms, 31*ms)
		fresh := join(t, h, "fresh", signal.Forever) // free: the look at the new name finds that
		between(t, "the ask of a new name", after(t, fresh), 0, 3*ms)
		leaveAll(append(all, fresh))
	})
}

// What is refused is not BLPOP: that must neither degrade nor spin.
func TestLookIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(fails(errNoBlock, "look"))
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(20 * time.Second)
		if n := s.did(); n > 20*4 {
			t.Errorf("%d commands in 20 s", n)
		}
		w.Leave(false)
	})
}

// Without blocking reads a bad name is found all the same.
func TestBadNameWithoutBlockingReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.failing(func(op string, names []string) error {
			switch {
			case (op == "look" || op == "probe") && slices.Contains(names, "bad"):
				return errPermanent
			case op == "block" || op == "probe":
				return errNoBlock
			}
			return nil
		})
		h := start(t, s, nil)
		good := joinAll(t, s, h, names("n", 3))
		time.Sleep(time.Second)
		bad := joinAll(t, s, h, []string{"bad"})[0]
		if err := bad.Wait(t.Context()); !errors.Is(err, errPermanent) {
			t.Errorf("Wait: %v", err)
		}
		bad.Leave(false)
		told := wait(t.Context(), good[0])
		time.Sleep(time.Second)
		silent(t, told)
		h.Stop()
		<-told
		leaveAll(good)
	})
}
