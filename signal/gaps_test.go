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
		w := join(t, h, "n", signal.For(500*ms)) // by its timer it asks in the middle of a read
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
			time.Sleep(300 * ms)
			s.vanish("n")
			s.breakAll()
			between(t, "the ask", after(t, w), 0, 210*ms)
			w.Leave(true)
		}
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
