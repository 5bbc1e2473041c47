package signal_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func TestHeadAsksAtOnceIfNothingIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := start(t, newStore(), nil)
		for _, left := range []signal.Left{signal.Unknown, signal.Free, signal.Foreign} {
			w := join(t, h, "n", left)
			between(t, "first ask", after(t, w), 0, 0)
			w.Leave(false)
		}
	})
}

func TestSignalWakesTheHeadOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		a, b := join(t, h, "n", signal.Forever), join(t, h, "n", signal.Forever)
		toldA, toldB := wait(t.Context(), a), wait(t.Context(), b)
		time.Sleep(10 * time.Second)
		silent(t, toldA, toldB)
		s.push(signalOf("n"), time.Second)
		time.Sleep(s.rtt)
		if err := <-toldA; err != nil {
			t.Errorf("the head: %v", err)
		}
		time.Sleep(10 * time.Second)
		silent(t, toldB)
		a.Leave(true)
		synctest.Wait()
		if err := <-toldB; err != nil {
			t.Errorf("the next one: %v", err)
		}
		b.Leave(true)
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		var order, want []int
		done := make(chan struct{})
		for i := range 8 {
			w := join(t, h, "n", signal.Forever)
			want = append(want, i)
			go func() {
				for got := false; !got; {
					if w.Wait(t.Context()) != nil {
						return
					}
					var left signal.Left
					if got, left = s.ask("n", -1); !got {
						w.Taken(left)
					}
				}
				order = append(order, i) // the lock guards it
				w.Leave(true)
				time.Sleep(3 * time.Millisecond)
				s.release("n")
				done <- struct{}{}
			}()
		}
		begin := time.Now()
		s.release("n")
		for range want {
			<-done
		}
		if !slices.Equal(order, want) {
			t.Errorf("order %v", order)
		}
		between(t, "8 handovers", time.Since(begin), 0, 8*6*time.Millisecond)
	})
}

// While a head asks, its signal stays in the store for others, and is read as soon as the head was
// refused.
func TestSignalIsLeftWhileAsking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Forever)
		time.Sleep(time.Second)
		s.push(signalOf("n"), time.Second)
		after(t, w)
		time.Sleep(500 * time.Millisecond) // the ask is under way, and the next turn with it
		s.push(signalOf("n"), time.Second)
		time.Sleep(10 * s.rtt)
		if !s.pending("n") {
			t.Error("the signal was read while the head asked")
		}
		w.Taken(signal.Forever)
		between(t, "the next ask", after(t, w), 0, 3*s.rtt)
		w.Leave(true)
	})
}

// The race for which there is a flag: "taken" was on its way when the signal came, and arrives
// after it.
func TestSignalWhileAsking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", 300*time.Millisecond)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.For(300*time.Millisecond))
		time.Sleep(200 * time.Millisecond)
		s.hold("n", -1)
		after(t, w)                        // by the timer, while the connection reads the signal
		time.Sleep(100 * time.Millisecond) // the ask is under way
		s.push(signalOf("n"), time.Second)
		time.Sleep(s.rtt)
		w.Taken(signal.Forever)
		between(t, "the next ask", after(t, w), 0, 0)
		w.Taken(signal.Forever)
		told := wait(t.Context(), w)
		time.Sleep(5 * time.Second)
		silent(t, told)
		s.release("n")
		<-told
		w.Leave(true)
	})
}

func TestLeaving(t *testing.T) {
	tests := []struct {
		name  string
		leave func(t *testing.T, s *store, w *signal.Waiter)
		given int
	}{
		{"without a signal", func(_ *testing.T, _ *store, w *signal.Waiter) { w.Leave(false) }, 0},
		{"with a signal that it was not told of", func(_ *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			time.Sleep(3 * s.rtt)
			w.Leave(false)
		}, 1},
		{"told of a signal", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			w.Leave(false)
		}, 1},
		{"with the lock", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			w.Leave(true)
		}, 0},
		{"with the lock, and a second signal", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			s.push(signalOf("n"), time.Second)
			time.Sleep(3 * s.rtt)
			w.Leave(true)
		}, 0},
		{"after the answer", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			w.Taken(signal.For(time.Minute))
			w.Leave(false)
		}, 0},
		{"after an answer that told nothing", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			w.Taken(signal.Unknown)
			w.Leave(false)
		}, 1},
		{"after the answer, with a signal since the ask", func(t *testing.T, s *store, w *signal.Waiter) {
			s.push(signalOf("n"), time.Second)
			after(t, w)
			s.push(signalOf("n"), time.Second)
			w.Taken(signal.For(time.Minute))
			time.Sleep(3 * s.rtt) // for the signal to be read
			w.Leave(false)
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStore()
				s.hold("n", -1)
				h := start(t, s, nil)
				w := join(t, h, "n", signal.Forever)
				time.Sleep(500 * time.Millisecond)
				test.leave(t, s, w)
				time.Sleep(time.Second)
				if got := s.gaveBack(); len(got) != test.given {
					t.Errorf("gave back %q, want %d", got, test.given)
				}
				if h.Queued(plain("n")) {
					t.Error("the name is still queued")
				}
			})
		})
	}
}

func TestSignalPassesToTheNextWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		var all []*signal.Waiter
		for range 3 {
			all = append(all, join(t, h, "n", signal.Forever))
		}
		time.Sleep(100 * time.Millisecond)
		s.push(signalOf("n"), time.Second)
		after(t, all[0])
		all[0].Leave(false)
		between(t, "the next one's ask", after(t, all[1]), 0, 0)
		all[1].Leave(false)
		synctest.Wait()
		if given := s.gaveBack(); len(given) != 0 {
			t.Errorf("gave back %q while one still waits", given)
		}
		all[2].Leave(false) // without even asking
		time.Sleep(2 * s.rtt)
		if given := s.gaveBack(); len(given) != 1 {
			t.Errorf("gave back %q, want the one signal", given)
		}
	})
}

func TestNewHeadAlwaysAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		a, b := join(t, h, "n", signal.Forever), join(t, h, "n", signal.Forever)
		told := wait(t.Context(), b)
		time.Sleep(3 * time.Second)
		silent(t, told)
		a.Leave(false)
		synctest.Wait()
		if err := <-told; err != nil {
			t.Error(err)
		}
		b.Leave(false)
	})
}

func TestWaiterBehindTheHeadLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		a, b := join(t, h, "n", signal.Forever), join(t, h, "n", signal.Forever)
		b.Leave(false)
		told := wait(t.Context(), a)
		time.Sleep(3 * time.Second)
		silent(t, told)
		s.push(signalOf("n"), time.Second)
		if err := <-told; err != nil {
			t.Error(err)
		}
		a.Leave(true)
	})
}

func TestCancelledWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("gone", -1)
		s.hold("stays", -1)
		h := start(t, s, nil)
		other := join(t, h, "stays", signal.Forever)
		w := join(t, h, "gone", signal.Forever)
		ctx, cancel := context.WithCancel(t.Context())
		told := wait(ctx, w)
		time.Sleep(500 * time.Millisecond)
		cancel()
		synctest.Wait() // at once: no time passes
		if err := <-told; !errors.Is(err, context.Canceled) {
			t.Errorf("Wait: %v, want context.Canceled", err)
		}
		if err := w.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait again: %v, want context.Canceled", err)
		}
		w.Leave(false)

		s.push(signalOf("gone"), time.Second) // its name is read still
		time.Sleep(2 * s.rtt)
		if given := s.gaveBack(); !slices.Equal(given, []string{"gone"}) {
			t.Errorf("gave back %q, want the signal that nobody waits for", given)
		}
		time.Sleep(time.Second)
		if readers := s.readers(); readers[signalOf("gone")] != 0 || readers[signalOf("stays")] != 1 {
			t.Errorf("reads from %v, want no more of the name that nobody waits for", readers)
		}
		other.Leave(false)
	})
}

// A name that comes back while the read that had it goes on needs no call.
func TestNameThatComesBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Forever)
		time.Sleep(500 * time.Millisecond)
		w.Leave(false)
		w = join(t, h, "n", signal.Forever)
		s.push(signalOf("n"), time.Second)
		between(t, "the ask", after(t, w), 0, s.rtt)
		if n := s.did("wake", "give"); n != 0 {
			t.Errorf("%d wake-ups and give-backs, want none", n)
		}
		w.Leave(true)
	})
}

// What the head was told, those behind it can read, until it is taken back.
func TestWordForThoseBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := start(t, newStore(), nil)
		head, behind := join(t, h, "n", signal.Forever), join(t, h, "n", signal.Unknown)
		for _, word := range []any{nil, "held", nil} {
			if head.Tell(word); behind.Told() != word {
				t.Errorf("told %v, want %v", behind.Told(), word)
			}
		}
		behind.Leave(false)
		head.Leave(false)
	})
}

// Names of two kinds are two names, also if they are called the same.
func TestKindsAreNotMixed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		s.hold("n", -1)
		s.hold("pool/n", -1)
		h := start(t, s, nil)
		w := join(t, h, "n", signal.Forever)
		other, err := h.Join(signal.Name{Kind: "pool", Name: "n"}, signal.Forever)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		told, alsoTold := wait(ctx, w), wait(t.Context(), other)
		time.Sleep(5 * time.Second)
		s.push(signalOf("pool/n"), time.Second)
		time.Sleep(100 * ms)
		silent(t, told)
		if err := <-alsoTold; err != nil {
			t.Fatal(err)
		}
		other.Leave(true)
		cancel()
		<-told
		w.Leave(false)
	})
}
