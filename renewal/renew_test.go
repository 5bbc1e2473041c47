package renewal

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRenewedOnTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Replies take 300 ms. Both validUntil and the interval count from the send.
		rec := &recorder{extend: replying(300*time.Millisecond, always(Renewed, nil))}
		start := time.Now()
		var untils []time.Duration
		s := open(t, rec.Extend, &Options[int]{Renewed: func(_ *Term[int], until time.Time) {
			untils = append(untils, until.Sub(start))
		}})
		term := add(t, s)
		time.Sleep(10 * time.Second) // the first is being sent
		checkLive(t, term)
		checkUntil(t, term, start, belief)

		time.Sleep(25 * time.Second)
		checkLive(t, term)
		want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}
		checkTimes(t, "renewals", rec.times(start), want)
		for i := range want {
			want[i] += belief
		}
		checkTimes(t, "validUntils", untils, want)
		checkUntil(t, term, start, want[2])
	})
}

func TestRenewedEarlierWithAWideMargin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		s := open(t, rec.Extend, nil)
		addConfig(t, s, Config{TTL: ttl, Margin: 20 * time.Second})
		time.Sleep(11 * time.Second)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{5 * time.Second, 10 * time.Second})
	})
}

func TestRenewalCountsFromTheAcquire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := Now()
		time.Sleep(4 * time.Second) // the reply to the acquire took so long
		term := addConfig(t, s, Config{TTL: ttl, Margin: margin, Sent: start})
		checkUntil(t, term, start.Time(), belief)
		time.Sleep(7 * time.Second)
		checkTimes(t, "renewals", rec.times(start.Time()), []time.Duration{10 * time.Second})
	})
}

func TestNoRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := addConfig(t, s, Config{TTL: ttl, Margin: margin, NoRenewal: true})
		term.Retime(ttl, margin)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		checkEnded(t, term, ErrExpired)
		if len(rec.all()) != 0 || s.done != nil {
			t.Errorf("%d renewals, goroutine started: %v", len(rec.all()), s.done != nil)
		}
		if term.Data() != 7 || term.TTL() != ttl {
			t.Errorf("Data %v, TTL %v", term.Data(), term.TTL())
		}
	})
}

func TestFailuresAreRepeatedUntilValidUntil(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		failed := 0
		s := open(t, rec.Extend, &Options[int]{Failed: func(_ *Term[int], err error) {
			if failed++; !errors.Is(err, errNet) {
				t.Errorf("Failed(%v), want %v", err, errNet)
			}
		}})
		start := time.Now()
		term := add(t, s)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		checkEnded(t, term, ErrExpired, errNet)

		times := rec.times(start)
		if failed != len(times) {
			t.Errorf("%d attempts, %d reported as failed", len(times), failed)
		}
		checkGaps(t, times, 20*time.Millisecond, 200*time.Millisecond)
		if last := times[len(times)-1]; belief-last > 200*time.Millisecond {
			t.Errorf("last attempt %v before validUntil", belief-last)
		}
	})
}

// checkGaps checks that the gaps lie within bounds and are not all alike.
func checkGaps(t *testing.T, times []time.Duration, shortest, longest time.Duration) {
	t.Helper()
	var gaps []time.Duration
	for i := range times[1:] {
		gaps = append(gaps, times[i+1]-times[i])
	}
	if len(gaps) == 0 {
		t.Fatal("nothing was repeated")
	}
	lo, hi := slices.Min(gaps), slices.Max(gaps)
	if lo < shortest || hi > longest {
		t.Errorf("gaps from %v to %v, want %v to %v", lo, hi, shortest, longest)
	}
	if len(gaps) > 10 && lo == hi {
		t.Errorf("all gaps are %v: no jitter", lo)
	}
}

func TestSmallTTLsAreRetriedFaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := addConfig(t, s, Config{TTL: 50 * time.Millisecond, Margin: 10 * time.Millisecond})
		<-term.Done()
		half := interval(50*time.Millisecond, 10*time.Millisecond) / 2
		checkGaps(t, rec.times(start), half/10, half)
		for _, c := range rec.all() {
			if c.limit > 50*time.Millisecond/6 {
				t.Errorf("limit %v", c.limit)
			}
		}
	})
}

func TestRecoversAfterFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: func([]Request[int], time.Duration, func()) []Result {
			return nil // neither is written called nor is there a result
		}}
		var failure error
		s := open(t, rec.Extend, &Options[int]{Failed: func(_ *Term[int], err error) { failure = err }})
		term := add(t, s)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if !errors.Is(failure, errUnexplained) {
			t.Errorf("a missing result was reported as %v", failure)
		}
		rec.use(always(Renewed, nil))
		time.Sleep(time.Minute)
		checkLive(t, term)
		release := make(chan struct{})
		defer close(release)
		rec.use(hanging(release)) // no failure since the last success: nothing to wrap
		<-term.Done()
		if term.Err() != ErrExpired {
			t.Errorf("Err is %v, want the bare %v", term.Err(), ErrExpired)
		}
	})
}

func TestNotOwnerEndsAtTheFirstBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		errBob := errors.New("bob has it")
		rec := &recorder{extend: always(NotOwner, errBob)}
		ended := 0
		start := time.Now()
		var s *Set[int]
		s = open(t, rec.Extend, &Options[int]{Ended: func(term *Term[int], cause error) {
			ended++
			select {
			case <-term.Done():
			default:
				t.Error("Ended was called before Done was closed")
			}
			if term.Err() != cause {
				t.Errorf("Ended with %v, Err is %v", cause, term.Err())
			}
			s.Terms() // the mutex is free
		}})
		term := add(t, s)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{10 * time.Second})
		checkEnded(t, term, ErrNotOwner, errBob)
		time.Sleep(time.Minute)
		synctest.Wait()
		if ended != 1 || len(rec.all()) != 1 {
			t.Errorf("Ended was called %d times after %d batches", ended, len(rec.all()))
		}
	})
}

func TestNotOwnerWithoutAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(NotOwner, nil), nil)
		term := add(t, s)
		<-term.Done()
		if term.Err() != ErrNotOwner {
			t.Errorf("Err is %v, want the bare %v", term.Err(), ErrNotOwner)
		}
	})
}

func TestAgainIsSentAnewAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{}
		rec.extend = func(batch []Request[int], limit time.Duration, written func()) []Result {
			if len(rec.all()) == 1 {
				return always(Again, nil)(batch, limit, written)
			}
			return always(Renewed, nil)(batch, limit, written)
		}
		s := open(t, rec.Extend, &Options[int]{Failed: func(*Term[int], error) {
			t.Error("Again was reported as a failure")
		}})
		start := time.Now()
		add(t, s)
		time.Sleep(21 * time.Second)
		checkTimes(t, "batches", rec.times(start),
			[]time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second})
	})
}

func TestAgainForEverDoesNotSpin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Again, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		<-term.Done() // would never come in a bubble whose goroutine spins
		checkEnded(t, term, ErrExpired)
		times := rec.times(start)
		checkTimes(t, "first", times[:4], slices.Repeat([]time.Duration{10 * time.Second}, 4))
		checkGaps(t, times[3:], 20*time.Millisecond, 200*time.Millisecond)
	})
}

func TestAgainAndFailedAsTheLastWord(t *testing.T) {
	// The results come at validUntil and the timers are late: whatever the result, it is too late.
	for _, outcome := range []Outcome{Failed, Renewed, Again, NotOwner} {
		t.Run(outcome.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := open(t, replying(belief, always(outcome, errNet)), &Options[int]{
					Renewed: func(*Term[int], time.Time) { t.Error("reported as renewed") },
					Failed:  func(*Term[int], error) { t.Error("reported as failed, to be repeated") },
				})
				term := add(t, s)
				stopTimers(s)
				<-term.Done()
				checkEnded(t, term, ErrExpired)
				if got, want := errors.Is(term.Err(), ErrNotOwner), outcome == NotOwner; got != want {
					t.Errorf("Err is %v", term.Err())
				}
			})
		})
	}
}

func TestHungExtendDoesNotDelayTheLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		s := open(t, hanging(release), nil)
		defer close(release)
		start := time.Now()
		first, second := add(t, s), add(t, s)
		<-first.Done()
		<-second.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		checkEnded(t, first, ErrExpired)
	})
}

func TestLateConfirmationIsNeverASuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The reply says renewed, 1 ns after validUntil; the store keeps the lease, we do not.
		d := belief - 10*time.Second + 1
		s := open(t, replying(d, always(Renewed, nil)), &Options[int]{
			Renewed: func(*Term[int], time.Time) { t.Error("reported as renewed") },
		})
		start := time.Now()
		term := add(t, s)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		time.Sleep(time.Minute)
		checkEnded(t, term, ErrExpired)
		checkUntil(t, term, start, belief)
	})
}
