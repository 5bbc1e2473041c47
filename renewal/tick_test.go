package renewal

import (
	"testing"
	"time"
)

// manyTerms returns a set of n terms of an hour, which tick at no time of their own.
func manyTerms(tb testing.TB, n int) *Set[int] {
	tb.Helper()
	s := New(always(Renewed, nil), nil)
	tb.Cleanup(func() { s.Close(nil) })
	for range n {
		_, err := s.Add(7, Config{TTL: time.Hour, Margin: time.Minute, Sent: s.clock(), NoRenewal: true})
		if err != nil {
			tb.Fatal(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticker.Stop()
	return s
}

// A look at the wall clock costs the same however many terms there are, as long as it does not run ahead.
func TestTickLooksAtNoTerm(t *testing.T) {
	quickest := func(n int) time.Duration {
		s := manyTerms(t, n)
		best := time.Hour
		for range 50 {
			began := time.Now()
			s.tick()
			best = min(best, time.Since(began))
		}
		return best
	}
	few, many := quickest(1), quickest(20_000)
	t.Logf("1 term: %v; 20,000: %v", few, many)
	if many > 20*few+20*time.Microsecond {
		t.Errorf("a tick takes %v with 20,000 terms and %v with one", many, few)
	}
}

// The wall clock goes back, a term comes, and it goes forward again, all between two ticks: no tick ever
// sees it ahead of where it was, but it has reached the term's end before the monotonic clock does.
func TestWallClockStepsBackAndForward(t *testing.T) {
	for _, between := range []time.Duration{0, 3 * time.Second} { // with ticks between the steps, and without
		t.Run(between.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := open(t, always(Failed, errNet), nil)
				step := setWall(s)
				add(t, s)
				time.Sleep(300 * time.Millisecond)
				step(-10 * time.Second)
				time.Sleep(between)
				start := time.Now()
				term := add(t, s)
				time.Sleep(between)
				step(10 * time.Second)
				<-term.Done()
				checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief - 10*time.Second})
			})
		})
	}
}

// A term of a year ends in a year, though no timer runs for as long.
func TestTermOfAYear(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const year = 366 * 24 * time.Hour
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		plain := addConfig(t, s, Config{TTL: year, NoRenewal: true})
		addConfig(t, s, Config{TTL: year})
		s.mu.Lock()
		s.ticker.Stop() // millions of ticks
		s.mu.Unlock()
		<-plain.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{year})
		checkTimes(t, "renewals", rec.times(start)[:2], []time.Duration{year / 3, 2 * year / 3})
	})
}

func BenchmarkTick(b *testing.B) {
	s := manyTerms(b, 10_000)
	for b.Loop() {
		s.tick()
	}
}
