package renewal

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// addNoExpiry adds a term of the usual length that is to become permanent.
func addNoExpiry(t *testing.T, s *Set[int]) *Term[int] {
	t.Helper()
	return addConfig(t, s, Config{TTL: ttl, Margin: margin, NoExpiry: true})
}

// confirm makes a term permanent by Confirm, as if it had been sent just now.
func confirm(t *testing.T, term *Term[int]) {
	t.Helper()
	if err := term.Confirm(term.set.clock(), ttl, margin); err != nil {
		t.Fatal(err)
	}
	checkNever(t, term)
}

// checkNever checks that the term is permanent, without a MaxHold.
func checkNever(t *testing.T, term *Term[int]) {
	t.Helper()
	checkLive(t, term)
	if !term.Until().IsZero() {
		t.Errorf("validUntil is %v, want never", term.Until())
	}
	term.set.mu.Lock()
	defer term.set.mu.Unlock()
	if term.timer.Stop() {
		t.Error("the timer of a permanent term is set")
	}
}

func TestPermanentFromTheFirstConfirmationOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		renewed := 0
		start := time.Now()
		term := addNoExpiry(t, open(t, rec.Extend, &Options[int]{Renewed: func(_ *Term[int], until time.Time) {
			if renewed++; !until.IsZero() {
				t.Errorf("renewed until %v, want never", until)
			}
		}}))
		checkUntil(t, term, start, belief)
		time.Sleep(9 * time.Second)
		checkUntil(t, term, start, belief)
		time.Sleep(22 * time.Second)
		checkNever(t, term)
		want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}
		checkTimes(t, "checks", rec.times(start), want)
		if renewed != len(want) {
			t.Errorf("%d reported as renewed", renewed)
		}
		for _, c := range rec.all() {
			if !c.batch[0].NoExpiry || c.batch[0].TTL != ttl || c.limit != 2*time.Second {
				t.Errorf("asked for %+v within %v", c.batch[0], c.limit)
			}
		}
		if !term.End(errDone) {
			t.Error("End returned false")
		}
		checkEnded(t, term, errDone)
	})
}

func TestPermanentByConfirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addNoExpiry(t, open(t, rec.Extend, nil))
		time.Sleep(4 * time.Second)
		confirm(t, term)
		time.Sleep(21 * time.Second)
		checkNever(t, term)
		checkTimes(t, "checks", rec.times(start), []time.Duration{14 * time.Second, 24 * time.Second})
	})
}

func TestOnlyTermsWithoutExpiryAreAskedForAsSuch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		plain, permanent := add(t, s), addNoExpiry(t, s)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		checkSizes(t, rec.all(), 2)
		for _, req := range rec.all()[0].batch {
			if req.NoExpiry != (req.Term == permanent) {
				t.Errorf("NoExpiry %v", req.NoExpiry)
			}
		}
		checkNever(t, permanent)
		checkUntil(t, plain, start, 10*time.Second+belief)
	})
}

func TestUnconfirmedItExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		start := time.Now()
		term := addNoExpiry(t, open(t, rec.Extend, nil))
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		checkEnded(t, term, ErrExpired, errNet)
		checkGaps(t, rec.times(start), 20*time.Millisecond, 200*time.Millisecond)
	})
}

func TestConfirmedTooLateItExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Failed, errNet), nil)
		term := addNoExpiry(t, s)
		stopTimers(s)
		time.Sleep(belief)
		if err := term.Confirm(Now(), ttl, margin); !errors.Is(err, ErrExpired) {
			t.Errorf("Confirm at validUntil: %v", err)
		}
		checkEnded(t, term, ErrExpired)
	})
}

func TestFailedChecksDoNotEndAPermanentTerm(t *testing.T) {
	for _, outcome := range []Outcome{Failed, Again} {
		t.Run(outcome.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rec := &recorder{extend: always(outcome, errNet)}
				failed := 0
				term := addNoExpiry(t, open(t, rec.Extend, &Options[int]{Failed: func(*Term[int], error) {
					failed++
				}}))
				start := time.Now()
				confirm(t, term)
				time.Sleep(time.Hour)
				checkNever(t, term)
				times := rec.times(start)
				checkTimes(t, "first", times[:1], []time.Duration{10 * time.Second})
				first := 0
				if outcome == Again {
					first = maxAgains // sent anew at once
				} else if failed != len(times) {
					t.Errorf("%d attempts, %d reported as failed", len(times), failed)
				}
				checkGaps(t, times[first:], time.Second, 2*time.Second)

				rec.use(always(NotOwner, nil))
				<-term.Done()
				if term.Err() != ErrNotOwner {
					t.Errorf("Err is %v, want the bare %v", term.Err(), ErrNotOwner)
				}
			})
		})
	}
}

func TestPermanentTermsOfSmallTTLsAreRetriedFaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		start := time.Now()
		term := addConfig(t, open(t, rec.Extend, nil), Config{TTL: 3 * time.Second, NoExpiry: true})
		confirm(t, term)
		time.Sleep(time.Minute)
		checkGaps(t, rec.times(start), 250*time.Millisecond, 500*time.Millisecond)
	})
}

func TestAHungCheckDoesNotEndAPermanentTerm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		term := addNoExpiry(t, open(t, hanging(release), nil))
		defer close(release)
		confirm(t, term)
		time.Sleep(time.Hour)
		checkNever(t, term)
	})
}

func TestPermanentWhateverTheClocksDo(t *testing.T) {
	for _, d := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(d.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rec := &recorder{extend: always(Failed, errNet)}
				s := open(t, rec.Extend, nil)
				step := setWall(s)
				start := time.Now()
				term := addNoExpiry(t, s)
				confirm(t, term)
				time.Sleep(5*time.Second + 500*time.Millisecond)
				step(d)
				checkNever(t, term)
				time.Sleep(5 * time.Second)
				checkNever(t, term)
				want := 10 * time.Second
				if d > 0 {
					want = 6 * time.Second // the tick has brought the check forward
				}
				checkTimes(t, "first check", rec.times(start)[:1], []time.Duration{want})
			})
		})
	}
}

func TestATimerThatFiresLateLeavesAPermanentTermAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		term := addNoExpiry(t, open(t, always(Renewed, nil), nil))
		confirm(t, term)
		term.expire() // it had fired already when Confirm stopped it
		checkNever(t, term)
	})
}

func TestConfirmDuringACheck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{}
		term, start := inFlightOf(t, rec, Config{TTL: ttl, Margin: margin, NoExpiry: true})
		confirm(t, term)
		term.Hurry() // it is under way
		time.Sleep(600 * time.Millisecond)
		checkNever(t, term)
		time.Sleep(10 * time.Second)
		// The reply to the older send neither puts the next check off nor brings it forward.
		checkTimes(t, "checks", rec.times(start),
			[]time.Duration{10 * time.Second, 20*time.Second + 400*time.Millisecond})
	})
}

// inFlightOf adds a term whose renewal was sent at 10 s and is confirmed at 11 s, and returns it at
// 10.4 s, with the instant of its acquisition.
func inFlightOf(t *testing.T, rec *recorder, c Config) (*Term[int], time.Time) {
	t.Helper()
	rec.extend = replying(time.Second, always(Renewed, nil))
	start := time.Now()
	term := addConfig(t, open(t, rec.Extend, nil), c)
	time.Sleep(10*time.Second + 400*time.Millisecond)
	return term, start
}

func TestPermanentUpToItsMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addConfig(t, open(t, rec.Extend, nil),
			Config{TTL: ttl, Margin: margin, NoExpiry: true, MaxHold: maxHold})
		checkUntil(t, term, start, belief)
		if err := term.Confirm(Now(), ttl, margin); err != nil {
			t.Fatal(err)
		}
		checkUntil(t, term, start, maxHold)
		term.expire() // the timer for the first validUntil, late: it is set anew
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{maxHold})
		checkMaxHold(t, term)
		checkTimes(t, "checks", rec.times(start),
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second})
	})
}

func TestRetimeLeavesATermWithoutExpiryAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addNoExpiry(t, open(t, rec.Extend, nil))
		term.Retime(short, shortMargin)
		checkUntil(t, term, start, belief)
		confirm(t, term)
		if sent := term.Retime(short, shortMargin); sent.Time() != time.Now() {
			t.Errorf("sent %v", sent.Time())
		}
		time.Sleep(11 * time.Second)
		checkNever(t, term)
		if term.TTL() != ttl {
			t.Errorf("TTL %v", term.TTL())
		}
		checkTimes(t, "checks", rec.times(start), []time.Duration{10 * time.Second})
	})
}

func TestPermanentWithoutRenewalIsNeverChecked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(NotOwner, nil)}
		term := addConfig(t, open(t, rec.Extend, nil),
			Config{TTL: ttl, Margin: margin, NoExpiry: true, NoRenewal: true})
		confirm(t, term)
		term.Hurry()
		time.Sleep(time.Hour)
		checkNever(t, term)
		checkSizes(t, rec.all())
	})
}

func TestHurry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := addNoExpiry(t, open(t, rec.Extend, nil))
		time.Sleep(time.Second)
		term.Hurry()
		checkNever(t, term)
		checkTimes(t, "checks", rec.times(start), []time.Duration{time.Second})
		time.Sleep(11 * time.Second)
		checkTimes(t, "checks", rec.times(start), []time.Duration{time.Second, 11 * time.Second})
	})
}

func TestHurryDoesNotPutOffWhatIsOverdue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		s := open(t, hanging(release), nil)
		addConfig(t, s, Config{TTL: short, Margin: shortMargin}).Hurry()
		synctest.Wait() // the goroutine is busy with it
		defer close(release)
		term := add(t, s)
		time.Sleep(15 * time.Second)
		term.Hurry()
		s.mu.Lock()
		defer s.mu.Unlock()
		if late := time.Since(term.place.due); late != 5*time.Second {
			t.Errorf("it was due %v ago, want 5s", late)
		}
	})
}

func TestHurryAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		term := add(t, open(t, rec.Extend, nil))
		term.End(errDone)
		term.Hurry()
		time.Sleep(time.Minute)
		checkSizes(t, rec.all())
		checkEnded(t, term, errDone)
	})
}

func TestHurryDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{}
		term, start := inFlightOf(t, rec, Config{TTL: ttl, Margin: margin})
		term.Hurry()
		term.set.mu.Lock()
		if term.place.queued() || term.carrier == nil {
			t.Error("it was queued while a batch carries it")
		}
		term.set.mu.Unlock()
		time.Sleep(9 * time.Second)
		checkLive(t, term)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{10 * time.Second})
	})
}
