package renewal

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBatchTakesWhatFallsDueInItsWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		add(t, s)
		time.Sleep(1500 * time.Millisecond) // TTL/20
		add(t, s)
		time.Sleep(time.Millisecond)
		add(t, s)
		time.Sleep(11 * time.Second)
		checkTimes(t, "batches", rec.times(start),
			[]time.Duration{10 * time.Second, 11501 * time.Millisecond})
		checkSizes(t, rec.all(), 2, 1)
	})
}

func TestWindowIsAtLeast5ms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		short := Config{TTL: 60 * time.Millisecond, Margin: 10 * time.Millisecond}
		addConfig(t, s, short)
		time.Sleep(5 * time.Millisecond)
		addConfig(t, s, short)
		time.Sleep(20 * time.Millisecond)
		checkSizes(t, rec.all(), 2)
	})
}

// checkSizes checks how many requests each call had.
func checkSizes(t *testing.T, calls []call, want ...int) {
	t.Helper()
	var got []int
	for _, c := range calls {
		got = append(got, len(c.batch))
	}
	if !slices.Equal(got, want) {
		t.Errorf("batches of %v terms, want %v", got, want)
	}
}

func TestBatchesHoldAtMost512TermsWithinAFactorOfTwo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		start := s.clock()
		ttls := []time.Duration{10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}
		for range 600 {
			for _, ttl := range ttls {
				// All fall due at the same instant, 20 s after the start.
				sent := start.add(20*time.Second - ttl/3)
				addConfig(t, s, Config{TTL: ttl, Margin: ttl / 20, Sent: sent})
			}
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		calls := rec.all()
		var last time.Duration
		total := 0
		for _, c := range calls {
			total += len(c.batch)
			checkBatch(t, c)
			if c.batch[0].TTL < last {
				t.Errorf("a batch of %v came after one of %v", c.batch[0].TTL, last)
			}
			last = c.batch[0].TTL
		}
		if total != 4*600 || len(calls) > 8 {
			t.Errorf("%d renewals in %d batches", total, len(calls))
		}
	})
}

// checkBatch checks what holds for every batch.
func checkBatch(t *testing.T, c call) {
	t.Helper()
	shortest, longest := c.batch[0].TTL, c.batch[len(c.batch)-1].TTL
	if !slices.IsSortedFunc(c.batch, func(a, b Request[int]) int { return int(a.TTL - b.TTL) }) {
		t.Error("the batch is not sorted by TTL")
	}
	if len(c.batch) > 512 || longest > 2*shortest {
		t.Errorf("%d terms from %v to %v", len(c.batch), shortest, longest)
	}
	if want := min(shortest/6, 2*time.Second); c.limit != want {
		t.Errorf("limit %v with a shortest TTL of %v, want %v", c.limit, shortest, want)
	}
}

func TestLimitNeverPassesValidUntil(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{}
		rec.extend = func(batch []Request[int], limit time.Duration, written func()) []Result {
			time.Sleep(limit)
			return always(Failed, errNet)(batch, limit, written)
		}
		s := open(t, rec.Extend, nil)
		term := add(t, s)
		later := add(t, s) // its deadline is not what counts
		later.Retime(ttl+1, margin)
		<-term.Done()
		later.End(errDone)
		for _, c := range rec.all() {
			want := max(min(2*time.Second, term.Until().Sub(c.at)), time.Millisecond)
			if c.limit != want {
				t.Errorf("limit %v, %v before validUntil", c.limit, term.Until().Sub(c.at))
			}
		}
	})
}

func TestManyShortTermsDoNotStarveLongOnes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The short ones take longer than the time until they are due again.
		rec := &recorder{extend: replying(40*time.Millisecond, always(Renewed, nil))}
		s := open(t, rec.Extend, nil)
		for range 2 * maxBatch {
			addConfig(t, s, Config{TTL: 150 * time.Millisecond, Margin: 10 * time.Millisecond})
		}
		long := addConfig(t, s, Config{TTL: 3 * time.Second, Margin: 150 * time.Millisecond})
		time.Sleep(10 * time.Second)
		checkLive(t, long)
	})
}

func TestExpiredTermsAreNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: replying(belief, always(Renewed, nil))}
		s := open(t, rec.Extend, nil)
		add(t, s)
		time.Sleep(2 * time.Second) // the next batch
		term := add(t, s)
		stopTimers(s)
		time.Sleep(time.Minute)
		checkSizes(t, rec.all(), 1)
		if term.Valid() || term.End(errDone) {
			t.Error("a term whose validUntil has passed looks live")
		}
		checkEnded(t, term, ErrExpired)
	})
}

func TestTenThousandTerms(t *testing.T) { // not parallel: it counts goroutines
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		rec := &recorder{extend: replying(time.Millisecond, always(Renewed, nil))}
		s := open(t, rec.Extend, nil)
		before := runtime.NumGoroutine()
		for range n {
			add(t, s)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if grown := runtime.NumGoroutine() - before; grown > 10 {
			t.Errorf("%d goroutines for %d terms", grown, n)
		}
		if len(s.Terms()) != n {
			t.Errorf("%d terms are live, want %d", len(s.Terms()), n)
		}
		if got := len(rec.all()); got > 3*(n/maxBatch+1) {
			t.Errorf("%d batches for three renewals of each", got)
		}
	})
}

func TestTheBatchIsTheExtendFuncsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		extend := func(batch []Request[int], limit time.Duration, written func()) []Result {
			results := always(Renewed, nil)(batch, limit, written)
			clear(batch)
			return results
		}
		term := add(t, open(t, extend, nil))
		time.Sleep(time.Minute)
		checkLive(t, term)
	})
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(Failed, Renewed, NotOwner, Again, Outcome(9))
	if want := "failed renewed not owner again failed"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestResultsAreMadeGood(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		give []Result
		want Result
	}{
		{"missing", nil, Result{Failed, errUnexplained}},
		{"unexplained", []Result{{}}, Result{Failed, errUnexplained}},
		{"unknown", []Result{{9, errNet}}, Result{Failed, errNet}},
		{"again", []Result{{Outcome: Again}}, Result{Outcome: Again}},
	} {
		got := result(test.give, 0)
		if got.Outcome != test.want.Outcome || !errors.Is(got.Err, test.want.Err) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
