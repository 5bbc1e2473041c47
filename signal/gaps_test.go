package signal_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// A read that began before the ask may read a signal while the ask is under way. Whoever gets the lock
// needs no signal, but the name may stand for several.
func TestSignalReadWhileTheLockIsGot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", 500*ms)
		h := start(t, s, nil)
		w := join(t, h, "n", 500*ms) // by its timer it asks in the middle of a read
		after(t, w)
		s.push(signalOf("n"), time.Second)
		time.Sleep(5 * s.rtt)
		w.Leave(true)
		time.Sleep(time.Second)
		if given := s.gaveBack(); !slices.Equal(given, []string{"n"}) {
			t.Errorf("gave back %q, want what was read while it asked", given)
		}
	})
}

// The look after a reconnection does not wait for its time.
func TestReconnectionLooksAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 20 {
			s := newStore()
			h := start(t, s, nil)
			w := joinAll(t, s, h, []string{"n"})[0]
			time.Sleep(10 * ms)
			s.breakAll()
			after(t, w) // once a second at most because it broke: not again now
			w.Taken(signal.Forever)
			time.Sleep(300 * ms)
			s.vanish("n")
			s.breakAll()
			between(t, "the ask", after(t, w), 0, 210*ms)
			w.Leave(true)
		}
	})
}

// A lateStore ends blocking reads as late as Redis does at hz 10.
type lateStore struct{ *store }

type lateConn struct{ signal.Conn }

func (s lateStore) Connect(k int) (signal.Conn, error) {
	c, err := s.store.Connect(k)
	return lateConn{c}, err
}

func (c lateConn) Block(names []string, d time.Duration) (string, error) {
	return c.Conn.Block(names, d+100*ms)
}

// No second passes without a look, although reads end late and calls end them early.
func TestLooksAreInTimeWithLateReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for offset := range 40 {
			s := newStore()
			h := signal.New(lateStore{s}, nil)
			all := joinAll(t, s, h, []string{"n"})
			last, calls := time.Now(), time.Now().Add(time.Duration(offset)*25*ms)
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(ms) {
				if time.Now().Equal(calls) {
					all = append(all, joinAll(t, s, h, []string{"calls"})...)
				}
				full := func(l signal.Look) bool { return l.Waiters != nil }
				if slices.ContainsFunc(s.lastLooks(), full) {
					between(t, "from one look to the next", time.Since(last), 0, 1010*ms)
					last = time.Now()
				}
			}
			leaveAll(all)
			h.Close(time.Second)
		}
	})
}

// A name is read by its old connection until the new one serves it.
func TestHandOverToAConnectionThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 65)) // the last one is alone on its connection
		time.Sleep(time.Second)
		all[0].Leave(false)
		time.Sleep(1500 * ms)
		s.failing(func(op string, names []string) error {
			if op == "look" && slices.Contains(names, "n1") {
				return errHang
			}
			return nil
		})
		time.Sleep(3500 * ms) // handed over, but never looked at
		for range 5 {
			s.push(signalOf("n64"), time.Second)
			between(t, "the ask", after(t, all[64]), 0, 5*s.rtt)
			all[64].Taken(signal.Forever)
			time.Sleep(700 * ms)
		}
		s.failing(nil)
		s.breakAll()
		time.Sleep(5 * time.Second)
		if open, _ := s.connections(); open != 1 {
			t.Errorf("%d connections, want 1", open)
		}
		leaveAll(all[1:])
	})
}

// A probe may be what reads a signal.
func TestSignalReadByAProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		good := joinAll(t, s, h, []string{"good"})[0]
		time.Sleep(500 * ms)
		s.failing(func(op string, names []string) error {
			if op == "block" && slices.Contains(names, "bad") {
				s.push(signalOf("good"), time.Second) // nobody reads now
				return errPermanent
			}
			return badName("bad", errPermanent, "probe")(op, names)
		})
		bad := joinAll(t, s, h, []string{"bad"})[0]
		between(t, "the ask", after(t, good), 0, 10*ms)
		if err := bad.Wait(t.Context()); !errors.Is(err, errPermanent) {
			t.Errorf("Wait: %v", err)
		}
		bad.Leave(false)
		good.Leave(true)
	})
}
