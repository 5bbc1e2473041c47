package renewal

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWallClockJumpsForward(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		step := setWall(s)
		term := add(t, s)
		time.Sleep(5*time.Second + 300*time.Millisecond)
		checkLive(t, term)
		step(belief - 5*time.Second)
		if term.Valid() {
			t.Error("valid after the wall clock passed validUntil")
		}
		start := time.Now()
		<-term.Done()
		if d := time.Since(start); d != 700*time.Millisecond {
			t.Errorf("Done was closed after %v, want the tick after 700ms", d)
		}
		checkEnded(t, term, ErrExpired)
	})
}

func TestDoneFollowsAWallJumpWithinATick(t *testing.T) {
	for _, test := range []struct{ ttl, tick time.Duration }{
		{ttl, time.Second},
		{3 * time.Second, 300 * time.Millisecond},
	} {
		t.Run(test.ttl.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := open(t, always(Renewed, nil), nil)
				step := setWall(s)
				addConfig(t, s, Config{TTL: time.Hour}).End(errDone) // must not set the pace
				term := addConfig(t, s, Config{TTL: test.ttl, Margin: test.ttl / 20})
				time.Sleep(777 * time.Millisecond)
				step(time.Hour)
				start := time.Now()
				<-term.Done()
				if d := time.Since(start); d > test.tick {
					t.Errorf("Done was closed after %v, want %v at most", d, test.tick)
				}
			})
		})
	}
}

func TestWallClockStepsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		step := setWall(s)
		start := time.Now()
		term := add(t, s)
		time.Sleep(5 * time.Second)
		step(-time.Hour)
		time.Sleep(16 * time.Second)
		checkLive(t, term)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{10 * time.Second, 20 * time.Second})
		checkUntil(t, term, start, 20*time.Second+belief)

		rec.use(always(Failed, errNet))
		<-term.Done() // the monotonic clock counts
		checkTimes(t, "end", []time.Duration{time.Since(start)},
			[]time.Duration{20*time.Second + belief})
	})
}

func TestSleepBringsRenewalsForward(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The machine sleeps for 20 s, in which timers stand still. 3 s are left of the term then, and
		// its renewal would be due 4.5 s later by the monotonic clock. The tick at 6 s sees that.
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		step := setWall(s)
		start := time.Now()
		term := add(t, s)
		time.Sleep(5*time.Second + 500*time.Millisecond)
		step(20 * time.Second)
		time.Sleep(6 * time.Second)
		checkLive(t, term)
		checkTimes(t, "renewals", rec.times(start), []time.Duration{6 * time.Second})
	})
}

func TestSleepBetweenAcquireAndAdd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		step := setWall(s)
		start := s.clock()
		step(20 * time.Second)
		term := addConfig(t, s, Config{TTL: ttl, Margin: margin, Sent: start})
		synctest.Wait()
		checkTimes(t, "renewals", rec.times(start.Time()), []time.Duration{0})
		checkLive(t, term)
		step(20 * time.Second)
		checkLive(t, term) // renewed by a send after the first step
	})
}

func TestTickingFollowsTheShortestTerm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		period := func() time.Duration {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.period
		}
		check := func(what string, want time.Duration) {
			t.Helper()
			if got := period(); got != want {
				t.Errorf("%s: a tick every %v, want %v", what, got, want)
			}
		}
		long := add(t, s)
		check("one of 30 s", time.Second)
		short := addConfig(t, s, Config{TTL: 3 * time.Second})
		check("one of 3 s beside it", 300*time.Millisecond)
		long.Retime(2*time.Second, margin)
		check("one of 2 s by Retime", 200*time.Millisecond)
		long.End(errDone)
		time.Sleep(250 * time.Millisecond)
		check("one of 3 s left, or of up to a third less", 1<<31/10)
		short.End(errDone)
		time.Sleep(time.Second)
		check("none", 0)
		add(t, s)
		check("one again", time.Second)
	})
}

func TestTimerThatFiresEarlyIsSetAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Failed, errNet), nil)
		start := time.Now()
		term := add(t, s)
		term.expire()
		checkLive(t, term)
		s.mu.Lock()
		s.ticker.Stop()
		term.timer.Reset(time.Second)
		s.mu.Unlock()
		<-term.Done()
		checkTimes(t, "end", []time.Duration{time.Since(start)}, []time.Duration{belief})
		term.expire()
		checkEnded(t, term, ErrExpired)
	})
}

func TestInstants(t *testing.T) {
	t.Parallel()
	i := Now()
	if d := time.Since(i.Time()); d < 0 || d > time.Minute {
		t.Errorf("Now is %v ago", d)
	}
	now := i.add(time.Second)
	slept := Instant{mono: now.mono, wall: now.wall + time.Hour}
	back := Instant{mono: now.mono, wall: now.wall - time.Hour}
	deadline := i.add(3 * time.Second)
	for _, test := range []struct {
		name string
		now  Instant
		want time.Duration
	}{
		{"both clocks agree", now, 2 * time.Second},
		{"the wall clock is ahead", slept, 2*time.Second - time.Hour},
		{"the wall clock was set back", back, 2 * time.Second},
		{"at the deadline", deadline, 0},
	} {
		if got := deadline.left(test.now); got != test.want {
			t.Errorf("%s: %v left, want %v", test.name, got, test.want)
		}
	}
	if got := earliest(slept, i.add(2*time.Second)); got.mono != slept.mono || got.wall != i.wall+2e9 {
		t.Errorf("earliest took one instant whole: %+v", got)
	}
	if got := earliest(deadline, now); got != now {
		t.Errorf("earliest of %+v and %+v is %+v", deadline, now, got)
	}
}

func TestTheZeroInstantIsLongAgo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, err := open(t, always(Renewed, nil), nil).Add(7, Config{TTL: 24 * time.Hour})
		if !errors.Is(err, ErrExpired) {
			t.Errorf("Add of a term without Sent: %v", err)
		}
	})
}
