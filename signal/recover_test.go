package signal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// fails returns a fault of these operations.
func fails(err error, ops ...string) func(string, []string) error {
	return func(op string, _ []string) error {
		if slices.Contains(ops, op) {
			return err
		}
		return nil
	}
}

// badName is the fault of a redis in which one key is of a wrong type or not allowed.
func badName(name string, err error, ops ...string) func(string, []string) error {
	return func(op string, names []string) error {
		if slices.Contains(ops, op) && slices.Contains(names, name) {
			return err
		}
		return nil
	}
}

func TestReconnecting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		var hooks atomic.Int64
		h := start(t, s, &signal.Options{Reconnecting: func(err error) {
			hooks.Add(1)
			if !errors.Is(err, errBroken) {
				t.Errorf("hook: %v", err)
			}
		}})
		all := joinAll(t, s, h, names("n", 3))
		time.Sleep(500 * ms)
		s.lastLooks()
		s.failing(fails(errBroken, "connect"))
		s.breakAll()
		time.Sleep(20 * time.Second)
		if n := s.did("connect"); n < 20*1000/201 || n > 20*1000/20 {
			t.Errorf("%d attempts in 20 s", n)
		}
		if n := int(hooks.Load()); n < s.did("connect")-1 || n > s.did("connect") {
			t.Errorf("%d hooks for %d attempts", n, s.did("connect"))
		}
		s.failing(nil)
		time.Sleep(300 * ms)
		looks := s.lastLooks()
		for len(looks) > 0 && looks[0].Waiters != nil {
			looks = looks[1:] // they went on
		}
		if len(looks) == 0 || len(looks[0].Names) != 3 {
			t.Errorf("looks after the reconnection: %+v, want one out of turn, without telling who waits", looks)
		}
		leaveAll(all)
	})
}

// Without looks, too, heads are told to ask once a second: the store may answer that.
func TestLooksFail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(500 * ms)
		s.failing(fails(errBroken, "look", "connect"))
		s.breakAll()
		down, asks := time.Now(), 0
		for time.Since(down) < 20*time.Second {
			ctx, cancel := context.WithDeadline(t.Context(), down.Add(20*time.Second))
			if w.Wait(ctx) == nil {
				asks++
				w.Taken(signal.Forever)
			}
			cancel()
		}
		if asks < 20 || asks > 23 {
			t.Errorf("the head was told to ask %d times in 20 s without looks", asks)
		}
		if n := s.did("look"); n > 23 {
			t.Errorf("%d looks in 20 s", n)
		}
		if errs := w.Trouble(); len(errs) != 1 || !errors.Is(errs[0], errBroken) {
			t.Errorf("trouble: %v", errs)
		}
		w.Leave(false)
	})
}

func TestLookAfterReconnecting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		w := joinAll(t, s, h, []string{"n"})[0]
		time.Sleep(10 * ms)
		s.breakAll()
		time.Sleep(300 * ms)
		s.loseSignals(true)
		s.breakAll()
		time.Sleep(250 * ms) // connected again, but the signal is lost with its connection
		s.release("n")
		s.loseSignals(false)
		between(t, "the ask", after(t, w), 0, 210*ms)
		w.Leave(true)
	})
}

func TestTrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		before := joinAll(t, s, h, []string{"n"})[0]
		other := joinAll(t, s, h, []string{"other"})[0]
		time.Sleep(500 * ms)
		if errs := before.Trouble(); len(errs) != 0 {
			t.Errorf("trouble before there was any: %v", errs)
		}
		for i := range 6 {
			s.failing(fails(fmt.Errorf("%d: %w", i, errBroken), "connect"))
			s.breakAll()
			time.Sleep(time.Second)
		}
		s.failing(nil)
		time.Sleep(time.Second)
		after := join(t, h, "n", signal.Unknown)
		errs := before.Trouble()
		if len(errs) != 4 || errs[3].Error() != "5: connection reset" || errs[0].Error() != "2: connection reset" {
			t.Errorf("trouble: %q, want the last four errors, each once", errs)
		}
		if errs := other.Trouble(); len(errs) != 4 {
			t.Errorf("trouble of another name: %q", errs)
		}
		if errs := after.Trouble(); len(errs) != 0 {
			t.Errorf("trouble of a waiter that was not there: %q", errs)
		}
		leaveAll([]*signal.Waiter{before, other, after})
	})
}

// The read that broke may have read a signal for a name whose last waiter has left meanwhile.
func TestLostReadIsGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"gone", "stays", "leaves"})
		time.Sleep(500 * ms)
		s.failing(fails(errBroken, "connect"))
		s.loseSignals(true)
		all[0].Leave(false)
		s.release("gone")
		time.Sleep(10 * ms)
		if given := s.gaveBack(); !slices.Equal(given, []string{"gone"}) || !s.pending("gone") {
			t.Errorf("gave back %q, want the name that was read and is not waited for", given)
		}
		// A name that is waited for still when it breaks, but no more when there is a look.
		all[2].Leave(false)
		time.Sleep(10 * ms)
		if given := s.gaveBack(); !slices.Equal(given, []string{"gone", "leaves"}) {
			t.Errorf("gave back %q, want also the name that was left before it was asked for", given)
		}
		s.failing(nil)
		s.loseSignals(false)
		time.Sleep(time.Second)
		all[1].Leave(true)
	})
}
