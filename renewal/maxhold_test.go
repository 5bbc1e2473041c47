package renewal

import (
	"errors"
	"math"
	"testing"
	"time"
)

// maxHold ends 3.7 s after a renewal was due, between two ticks.
const maxHold = 33*time.Second + 700*time.Millisecond

// addCapped adds a term of the usual length with a MaxHold.
func addCapped(t *testing.T, s *Set[int]) *Term[int] {
	t.Helper()
	return addConfig(t, s, Config{TTL: ttl, Margin: margin, MaxHold: maxHold})
}

// checkMaxHold checks that the term has ended because of its MaxHold and of nothing else.
func checkMaxHold(t *testing.T, term *Term[int]) {
	t.Helper()
	checkEnded(t, term, ErrMaxHold)
	if term.Err() != ErrMaxHold {
		t.Errorf("Err is %v, want the bare %v", term.Err(), ErrMaxHold)
	}
}

func TestMaxHoldEndsATermThatIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		var untils []time.Duration
		var causes []error
		start := time.Now()
		s := open(t, rec.Extend, &Options[int]{
			Renewed: func(_ *Term[int], until time.Time) { untils = append(untils, until.Sub(start)) },
			Ended:   func(_ *Term[int], cause error) { causes = append(causes, cause) },
		})
		term := addCapped(t, s)
		checkUntil(t, term, start, belief)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{maxHold})
		checkMaxHold(t, term)
		checkUntil(t, term, start, maxHold)
		// The interval stays what it is to the end: no renewal is brought forward by the cap.
		want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}
		checkTimes(t, "renewals", rec.times(start), want)
		checkTimes(t, "validUntils", untils, []time.Duration{maxHold, maxHold, maxHold})
		time.Sleep(time.Minute)
		if len(causes) != 1 || causes[0] != ErrMaxHold || len(rec.all()) != len(want) {
			t.Errorf("Ended with %v, %d batches", causes, len(rec.all()))
		}
	})
}

func TestMaxHoldShorterThanTheTTL(t *testing.T) {
	for name, noRenewal := range map[string]bool{"renewed": false, "not renewed": true} {
		const most = 8500 * time.Millisecond // between two ticks
		config := Config{TTL: ttl, Margin: margin, MaxHold: most, NoRenewal: noRenewal}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rec := &recorder{extend: always(Renewed, nil)}
				start := time.Now()
				term := addConfig(t, open(t, rec.Extend, nil), config)
				checkUntil(t, term, start, most)
				<-term.Done()
				checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{most})
				checkMaxHold(t, term)
				checkSizes(t, rec.all())
			})
		})
	}
}

func TestLossIsNoticedShortlyBeforeMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addCapped(t, open(t, rec.Extend, nil))
		time.Sleep(25 * time.Second)
		rec.use(always(NotOwner, nil))
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{30 * time.Second})
		checkEnded(t, term, ErrNotOwner)
	})
}

func TestValidUntilBeforeMaxHoldIsAnExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		term := addCapped(t, open(t, always(Failed, errNet), nil))
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		checkEnded(t, term, ErrExpired, errNet)
		if errors.Is(term.Err(), ErrMaxHold) {
			t.Errorf("Err is %v", term.Err())
		}
	})
}

func TestMaxHoldDuringFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addCapped(t, open(t, rec.Extend, nil))
		time.Sleep(25 * time.Second)
		rec.use(always(Failed, errNet)) // what was confirmed at 20 s reaches beyond the cap
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{maxHold})
		checkMaxHold(t, term)
	})
}

// TestMaxHoldFoundLate has the timers late, so that somebody else finds that the MaxHold passed.
func TestMaxHoldFoundLate(t *testing.T) {
	for _, test := range []struct {
		name string
		find func(*testing.T, *Term[int])
	}{
		{"by Valid and End", func(t *testing.T, term *Term[int]) {
			if term.Valid() {
				t.Error("valid at its MaxHold")
			}
			if term.End(errDone) {
				t.Error("End returned true at the MaxHold")
			}
		}},
		{"by Confirm", func(t *testing.T, term *Term[int]) {
			if err := term.Confirm(Now(), ttl, margin); err != ErrMaxHold {
				t.Errorf("Confirm at the MaxHold: %v", err)
			}
		}},
		{"by Close", func(_ *testing.T, term *Term[int]) { term.set.Close(errDone) }},
		{"by the timer", func(_ *testing.T, term *Term[int]) { term.expire() }},
		{"by the tick, as the wall clock ran ahead", func(_ *testing.T, term *Term[int]) {
			setWall(term.set)(minPeriod)
			term.set.tick()
		}},
		{"long after both had passed", func(_ *testing.T, term *Term[int]) {
			time.Sleep(time.Hour)
			term.End(errDone)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				term := addCapped(t, open(t, always(Renewed, nil), nil))
				time.Sleep(maxHold - time.Millisecond)
				stopTimers(term.set)
				if !term.Valid() {
					t.Error("not valid 1 ms before its MaxHold")
				}
				time.Sleep(time.Millisecond)
				test.find(t, term)
				checkMaxHold(t, term)
			})
		})
	}
}

func TestResultsAfterMaxHoldAreTooLate(t *testing.T) {
	for _, outcome := range []Outcome{Failed, Renewed, Again, NotOwner} {
		t.Run(outcome.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := open(t, replying(5*time.Second, always(outcome, errNet)), &Options[int]{
					Renewed: func(*Term[int], time.Time) { t.Error("reported as renewed") },
					Failed:  func(*Term[int], error) { t.Error("reported as failed, to be repeated") },
				})
				term := addConfig(t, s, Config{TTL: ttl, Margin: margin, MaxHold: 15 * time.Second})
				stopTimers(s)
				<-term.Done()
				checkMaxHold(t, term)
			})
		})
	}
}

func TestTheFirstToPassIsTheCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Failed, errNet), nil)
		term := addCapped(t, s)
		stopTimers(s)
		time.Sleep(time.Hour) // validUntil and later the cap have passed when anybody looks
		term.End(errDone)
		checkEnded(t, term, ErrExpired)
		if errors.Is(term.Err(), ErrMaxHold) {
			t.Errorf("Err is %v", term.Err())
		}
	})
}

func TestMaxHoldByTheWallClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		step := setWall(s)
		term := addCapped(t, s)
		time.Sleep(25*time.Second + 300*time.Millisecond)
		step(9 * time.Second) // confirmed at 20 s, it would be valid to 48.5 s
		if term.Valid() {
			t.Error("valid after the wall clock passed the MaxHold")
		}
		start := time.Now()
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{700 * time.Millisecond})
		checkMaxHold(t, term)
	})
}

func TestMaxHoldWhenTheWallClockStepsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		step := setWall(s)
		start := time.Now()
		term := addCapped(t, s)
		time.Sleep(5 * time.Second)
		step(-time.Hour)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{maxHold})
		checkMaxHold(t, term)
	})
}

func TestRetimeDoesNotPassMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addCapped(t, open(t, rec.Extend, nil))
		time.Sleep(2 * time.Second)
		if err := term.Confirm(term.Retime(long, longMargin), long, longMargin); err != nil {
			t.Fatal(err)
		}
		checkUntil(t, term, start, maxHold)
		time.Sleep(2 * time.Second)
		if err := term.Confirm(term.Retime(short, shortMargin), short, shortMargin); err != nil {
			t.Fatal(err)
		}
		checkUntil(t, term, start, 4*time.Second+short-shortMargin)
		<-term.Done()
		checkMaxHold(t, term)
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{maxHold})
	})
}

// checkLease checks until when the lease is believed in, MaxHold or not.
func checkLease(t *testing.T, term *Term[int], start time.Time, d time.Duration) {
	t.Helper()
	term.set.mu.Lock()
	defer term.set.mu.Unlock()
	if got := term.lease.Time().Sub(start); got != d {
		t.Errorf("the lease runs to %v after the start, want %v", got, d)
	}
}

func TestBehindMaxHoldTheLeaseIsKeptAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := Now()
		term := addCapped(t, open(t, always(Renewed, nil), nil))
		time.Sleep(25 * time.Second)
		checkLease(t, term, start.Time(), 20*time.Second+belief)
		term.Retime(ttl, margin) // would allow more, and is not confirmed
		checkLease(t, term, start.Time(), 20*time.Second+belief)
		older := start.add(15 * time.Second) // of another connection, confirmed only now
		if err := term.Confirm(older, ttl, margin); err != nil {
			t.Fatal(err)
		}
		checkLease(t, term, start.Time(), 20*time.Second+belief)
		checkUntil(t, term, start.Time(), maxHold)
	})
}

func TestNothingIsSentAfterMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		term := addConfig(t, s, Config{TTL: ttl, Margin: margin, MaxHold: 9 * time.Second})
		stopTimers(s)
		time.Sleep(time.Minute)
		checkSizes(t, rec.all())
		term.End(errDone)
		checkMaxHold(t, term)
	})
}

func TestMaxHoldDoesNotShortenTheAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Both are renewed in one batch, 1 ms before the MaxHold of one.
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		addConfig(t, s, Config{TTL: ttl, Margin: margin, MaxHold: 10*time.Second + time.Millisecond})
		other := add(t, s)
		time.Sleep(10 * time.Second)
		checkLive(t, other)
		checkSizes(t, rec.all(), 2)
		if got := rec.all()[0].limit; got != 2*time.Second {
			t.Errorf("limit %v", got)
		}
	})
}

func TestAddAfterMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		sent := Now()
		time.Sleep(time.Second)
		for _, c := range []Config{
			{TTL: ttl, MaxHold: time.Second},
			{TTL: ttl, MaxHold: -1},
			{TTL: ttl, MaxHold: math.MinInt64},
			{TTL: time.Second / 2, MaxHold: time.Second},
			{TTL: ttl, MaxHold: time.Second, NoExpiry: true},
		} {
			c.Sent = sent
			if term, err := s.Add(7, c); err != ErrMaxHold || term != nil {
				t.Errorf("Add(%+v): %v, %v", c, term, err)
			}
		}
		if len(s.Terms()) != 0 {
			t.Error("a term was kept")
		}
	})
}

func TestEndlessDurationsDoNotOverflow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		start := time.Now()
		held := addConfig(t, s, Config{TTL: ttl, Margin: margin, MaxHold: math.MaxInt64})
		kept := addConfig(t, s, Config{TTL: math.MaxInt64, NoRenewal: true})
		time.Sleep(time.Hour)
		checkLive(t, held)
		checkLive(t, kept)
		checkUntil(t, held, start, time.Hour+belief)
		if !kept.Until().IsZero() {
			t.Errorf("validUntil is %v, want never", kept.Until())
		}
	})
}

func TestNever(t *testing.T) {
	t.Parallel()
	now := Now()
	odd := Instant{mono: now.mono, wall: math.MinInt64}
	for _, at := range []Instant{{}, now, now.add(forever), odd, never} {
		if got := never.left(at); got != math.MaxInt64 {
			t.Errorf("%v left of never at %+v", got, at)
		}
	}
	if got := earliest(now, never); got != now {
		t.Errorf("earliest of now and never is %+v", got)
	}
	if got := earliest(never, now); got != now {
		t.Errorf("earliest of never and now is %+v", got)
	}
	for _, got := range []Instant{
		never.add(-time.Hour), now.add(math.MaxInt64), now.add(forever + 1),
	} {
		if got != never || !got.Time().IsZero() {
			t.Errorf("%+v, want never", got)
		}
	}
	if got := now.add(forever).left(now); got != forever {
		t.Errorf("%v left, want %v", got, forever)
	}
}
