package renewal

import (
	"testing"
	"testing/synctest"
	"time"
)

const (
	short       = 10 * time.Second
	shortMargin = 500 * time.Millisecond
	long        = 60 * time.Second
	longMargin  = 3 * time.Second
)

func TestRetimeShorter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		time.Sleep(2 * time.Second)
		sent := term.Retime(short, shortMargin)
		if sent.Time() != time.Now() || term.TTL() != short {
			t.Errorf("sent %v, TTL %v", sent.Time(), term.TTL())
		}
		checkUntil(t, term, start, 2*time.Second+short-shortMargin) // before the store knows
		time.Sleep(time.Second)
		if err := term.Confirm(sent, short, shortMargin); err != nil {
			t.Fatal(err)
		}
		checkUntil(t, term, start, 2*time.Second+short-shortMargin)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		checkTimes(t, "renewals", rec.times(start), []time.Duration{
			2*time.Second + short/3, 2*time.Second + 2*(short/3),
		})
		if got := rec.all()[0].batch[0].TTL; got != short {
			t.Errorf("renewed for %v", got)
		}
	})
}

func TestRetimeShorterIsLostEarlierIfNothingIsConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		time.Sleep(2 * time.Second)
		term.Retime(short, shortMargin)
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)},
			[]time.Duration{2*time.Second + short - shortMargin})
		checkTimes(t, "first attempt", rec.times(start)[:1],
			[]time.Duration{2*time.Second + short/3})
	})
}

func TestRetimeShorterDoesNotPutOffWhatIsDueBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		time.Sleep(9 * time.Second)
		term.Retime(short, shortMargin)
		time.Sleep(2 * time.Second)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{10 * time.Second})
	})
}

func TestRetimeToAWiderMarginIsRenewedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		start := time.Now()
		term := add(t, open(t, rec.Extend, nil))
		time.Sleep(time.Second)
		term.Retime(ttl, ttl-2*time.Second)
		checkUntil(t, term, start, 3*time.Second)
		time.Sleep(1500 * time.Millisecond)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{2 * time.Second})
	})
}

func TestRetimeToNothingEndsTheTerm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		term := add(t, open(t, always(Renewed, nil), nil))
		sent := term.Retime(-time.Second, 0)
		if term.Valid() {
			t.Error("valid")
		}
		if err := term.Confirm(sent, short, shortMargin); err == nil {
			t.Error("Confirm made it valid")
		}
		checkEnded(t, term, ErrExpired)
	})
}

func TestRetimeLonger(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		time.Sleep(2 * time.Second)
		sent := term.Retime(long, longMargin)
		checkUntil(t, term, start, belief) // nothing moves before the store has confirmed it
		time.Sleep(time.Second)
		if err := term.Confirm(sent, long, longMargin); err != nil {
			t.Fatal(err)
		}
		checkUntil(t, term, start, 2*time.Second+long-longMargin)
		time.Sleep(20 * time.Second)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{2*time.Second + long/3})
		checkLive(t, term)
	})
}

func TestRetimeLongerUnconfirmedIsRenewedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The extend that the caller sent is lost. The renewal, when it was due anyway, makes up.
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := addConfig(t, s, Config{TTL: short, Margin: shortMargin})
		time.Sleep(time.Second)
		term.Retime(10*time.Minute, longMargin)
		time.Sleep(3 * time.Second)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{short / 3})
		if got := rec.all()[0].batch[0].TTL; got != 10*time.Minute {
			t.Errorf("renewed for %v", got)
		}
		checkUntil(t, term, start, short/3+10*time.Minute-longMargin)
	})
}

// inFlight has a term of 30 s whose renewal, sent at 10 s, is confirmed at 11 s. During that act is
// called at 10.4 s. It returns the term and the instant of its acquisition after 11 s.
func inFlight(t *testing.T, rec *recorder, act func(*Term[int])) (*Term[int], time.Time) {
	t.Helper()
	rec.extend = replying(time.Second, always(Renewed, nil))
	s := open(t, rec.Extend, nil)
	start := time.Now()
	term := add(t, s)
	time.Sleep(10*time.Second + 400*time.Millisecond)
	act(term)
	time.Sleep(600 * time.Millisecond)
	checkLive(t, term)
	return term, start
}

func TestRetimeDuringARenewal(t *testing.T) {
	const (
		renewed = 10 * time.Second
		retimed = renewed + 400*time.Millisecond
	)
	confirm := func(ttl, margin time.Duration) func(*Term[int]) {
		return func(term *Term[int]) {
			if err := term.Confirm(term.Retime(ttl, margin), ttl, margin); err != nil {
				t.Error(err)
			}
		}
	}
	retime := func(ttl, margin time.Duration) func(*Term[int]) {
		return func(term *Term[int]) { term.Retime(ttl, margin) }
	}
	for _, test := range []struct {
		name  string
		act   func(*Term[int])
		until time.Duration
		due   time.Duration
	}{
		{
			"shorter, unconfirmed: the older reply does not lengthen it",
			retime(short, shortMargin), retimed + short - shortMargin, renewed + short/3,
		},
		{
			"shorter, confirmed: nor then",
			confirm(short, shortMargin), retimed + short - shortMargin, retimed + short/3,
		},
		{
			"longer, unconfirmed: the older reply is worth its own TTL",
			retime(long, longMargin), renewed + belief, renewed + belief/2,
		},
		{
			"longer, confirmed: the older reply does not shorten it",
			confirm(long, longMargin), retimed + long - longMargin, retimed + long/3,
		},
		{
			"shorter, then longer, both unconfirmed: what the older reply says, no more",
			func(term *Term[int]) { term.Retime(short, shortMargin); term.Retime(long, longMargin) },
			renewed + belief, renewed + belief/2,
		},
		{
			"longer confirmed, then shorter: the last word counts",
			func(term *Term[int]) { confirm(long, longMargin)(term); term.Retime(short, shortMargin) },
			retimed + short - shortMargin, retimed + short/3,
		},
		{
			"a wider margin alone",
			retime(ttl, 10*time.Second), renewed + ttl - 10*time.Second, renewed + ttl/3,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rec := &recorder{}
				term, start := inFlight(t, rec, test.act)
				want := test.until
				checkUntil(t, term, start, want)
				time.Sleep(time.Until(start.Add(test.due)))
				synctest.Wait()
				checkTimes(t, "renewals", rec.times(start), []time.Duration{renewed, test.due})
			})
		})
	}
}

func TestConfirmationsInTheWrongOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		term := add(t, open(t, always(Renewed, nil), nil))
		start := time.Now()
		first := term.Retime(long, longMargin)
		time.Sleep(time.Second)
		second := term.Retime(short, shortMargin)
		time.Sleep(time.Second)
		want := time.Second + short - shortMargin
		for _, c := range []struct {
			sent        Instant
			ttl, margin time.Duration
		}{{second, short, shortMargin}, {first, long, longMargin}, {second, short, shortMargin}} {
			if err := term.Confirm(c.sent, c.ttl, c.margin); err != nil {
				t.Fatal(err)
			}
			checkUntil(t, term, start, want)
		}
	})
}

func TestConfirmAfterValidUntil(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ended := 0
		s := open(t, always(Failed, errNet), &Options[int]{Ended: func(*Term[int], error) { ended++ }})
		term := add(t, s)
		time.Sleep(belief - time.Second)
		sent := term.Retime(long, longMargin)
		stopTimers(s)
		time.Sleep(time.Second) // the store has extended it to a minute, but nobody told us in time
		for range 2 {
			if err := term.Confirm(sent, long, longMargin); err == nil || err != term.Err() {
				t.Errorf("Confirm at validUntil: %v, Err %v", err, term.Err())
			}
		}
		checkEnded(t, term, ErrExpired, errNet)
		if ended != 1 {
			t.Errorf("Ended was called %d times", ended)
		}
	})
}

func TestConfirmEndsARunOfFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		term := add(t, open(t, rec.Extend, nil))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		attempts := len(rec.all())
		if err := term.Confirm(term.Retime(ttl, margin), ttl, margin); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if got := len(rec.all()); got != attempts {
			t.Errorf("%d attempts after a confirmed extend", got-attempts)
		}
		checkLive(t, term)
	})
}
