package renewal

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

func TestEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Renewed, nil)}
		ended := 0
		s := open(t, rec.Extend, &Options[int]{Ended: func(*Term[int], error) { ended++ }})
		term := add(t, s)
		checkLive(t, term)
		if !term.End(errDone) {
			t.Error("the first End returned false")
		}
		if term.End(errNet) {
			t.Error("the second End returned true")
		}
		checkEnded(t, term, errDone)
		time.Sleep(time.Minute)
		if ended != 1 || len(rec.all()) != 0 {
			t.Errorf("Ended was called %d times, %d batches after the end", ended, len(rec.all()))
		}
		term.Retime(time.Hour, margin)
		if err := term.Confirm(Now(), time.Hour, margin); err != errDone {
			t.Errorf("Confirm after the end: %v, want %v", err, errDone)
		}
		checkEnded(t, term, errDone)
		if term.TTL() != ttl {
			t.Errorf("Retime after the end made the TTL %v", term.TTL())
		}
	})
}

func TestEndWithoutACause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		term := add(t, open(t, always(Renewed, nil), nil))
		term.End(nil)
		checkEnded(t, term, context.Canceled)
	})
}

func TestEndWaitsForTheWriteAndNotForTheReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Putting the batch on the wire takes 500 ms, the reply a second more.
		extend := func(batch []Request[int], limit time.Duration, written func()) []Result {
			time.Sleep(500 * time.Millisecond)
			return replying(time.Second, always(Renewed, nil))(batch, limit, written)
		}
		s := open(t, extend, &Options[int]{Renewed: func(*Term[int], time.Time) {
			t.Error("an ended term was reported as renewed")
		}})
		term, other := add(t, s), addConfig(t, s, Config{TTL: time.Hour, Margin: margin})
		time.Sleep(10*time.Second + 200*time.Millisecond)

		start := time.Now()
		if !other.End(errDone) || time.Since(start) != 0 {
			t.Errorf("End of a term that is not in the batch took %v", time.Since(start))
		}
		go func() {
			<-term.Done() // the belief ends at once, before the write is over
			if d := time.Since(start); d != 0 {
				t.Errorf("Done was closed after %v", d)
			}
		}()
		if !term.End(errDone) {
			t.Error("End returned false")
		}
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Errorf("End returned after %v, want the end of the write after 300ms", d)
		}
		if term.End(errDone); time.Since(start) != 300*time.Millisecond {
			t.Errorf("the second End did not return at once, while the reply is awaited")
		}
		time.Sleep(time.Minute)
	})
}

func TestEveryEndWaitsForTheWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		extend := func(batch []Request[int], limit time.Duration, written func()) []Result {
			time.Sleep(500 * time.Millisecond)
			return always(Renewed, nil)(batch, limit, written)
		}
		term := add(t, open(t, extend, nil))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		start := time.Now()
		go term.End(errDone)
		synctest.Wait()
		if term.End(errDone) || time.Since(start) != 500*time.Millisecond {
			t.Errorf("the second End returned after %v", time.Since(start))
		}
	})
}

func TestEndDoesNotTrustTheExtendFunc(t *testing.T) {
	t.Run("returned without written", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			extend := func([]Request[int], time.Duration, func()) []Result {
				time.Sleep(time.Second)
				return nil
			}
			term := add(t, open(t, extend, nil))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			start := time.Now()
			if term.End(errDone); time.Since(start) != time.Second {
				t.Errorf("End returned after %v", time.Since(start))
			}
		})
	})
	t.Run("hung", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			extend := func([]Request[int], time.Duration, func()) []Result { <-release; return nil }
			s := open(t, extend, nil)
			defer close(release)
			term := add(t, s)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			start := time.Now()
			if term.End(errDone); time.Since(start) != patience {
				t.Errorf("End returned after %v", time.Since(start))
			}
			if s.Close(nil); time.Since(start) != 2*patience {
				t.Errorf("Close returned after %v", time.Since(start)-patience)
			}
		})
	})
}

// Who has heard that the lease is lost waits for no renewal of it; who is about to release it still does.
func TestLoseWaitsForNoWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		extend := func([]Request[int], time.Duration, func()) []Result {
			time.Sleep(time.Second)
			return nil
		}
		term := add(t, open(t, extend, nil))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		start := time.Now()
		if term.Lose(errDone); time.Since(start) != 0 || term.Err() != errDone {
			t.Errorf("Lose returned after %v; the term's error is %v", time.Since(start), term.Err())
		}
		if term.End(nil); time.Since(start) != time.Second {
			t.Errorf("End returned after %v", time.Since(start))
		}
	})
}

func TestEndBetweenTheMarkAndTheWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The batch has been put together, but extend is not called yet: the clock is read there.
		rec := &recorder{extend: always(Renewed, nil)}
		s := open(t, rec.Extend, nil)
		gate := make(chan struct{})
		term := add(t, s)
		s.mu.Lock()
		s.clock = func() Instant { // the first call of next comes, then the one of perform
			if s.mu.TryLock() {
				s.mu.Unlock()
				<-gate
			}
			return Now()
		}
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		ended := make(chan bool)
		go func() { ended <- term.End(errDone) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("End returned before the batch was written")
		default:
		}
		close(gate)
		if !<-ended {
			t.Error("End returned false")
		}
		checkSizes(t, rec.all(), 1)
	})
}

func TestEndAfterValidUntilIsTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cause error
		s := open(t, always(Failed, errNet), &Options[int]{Ended: func(_ *Term[int], err error) { cause = err }})
		term := add(t, s)
		time.Sleep(belief - time.Millisecond)
		stopTimers(s)
		if !term.Valid() {
			t.Error("not valid 1 ms before validUntil")
		}
		time.Sleep(time.Millisecond)
		if term.Valid() {
			t.Error("valid at validUntil")
		}
		if term.Err() != nil {
			t.Errorf("Err is %v though the timer is late", term.Err())
		}
		if term.End(errDone) {
			t.Error("End returned true at validUntil")
		}
		checkEnded(t, term, ErrExpired, errNet)
		if cause != term.Err() {
			t.Errorf("Ended was called with %v", cause)
		}
	})
}

func TestEndFromTheObservers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var other *Term[int]
		s := open(t, always(Renewed, nil), &Options[int]{
			Renewed: func(term *Term[int], _ time.Time) { term.End(errDone) },
			Ended:   func(*Term[int], error) { other.End(errDone) },
		})
		other = addConfig(t, s, Config{TTL: ttl, NoRenewal: true})
		term := add(t, s)
		<-term.Done()
		checkEnded(t, term, errDone)
		checkEnded(t, other, errDone)
	})
}

func TestEndedTermsAreNotKept(t *testing.T) {
	t.Parallel()
	s := New(always(Renewed, nil), nil)
	defer s.Close(nil)
	var ending []*Term[int]
	var refs []weak.Pointer[Term[int]]
	for i := range 1000 {
		term, err := s.Add(7, Config{TTL: time.Hour, Sent: Now()})
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			ending, refs = append(ending, term), append(refs, weak.Make(term))
		}
	}
	for _, term := range ending { // so few that the runtime does not bother to drop their timers
		term.End(errDone)
	}
	ending = nil
	runtime.GC()
	for i, ref := range refs {
		if ref.Value() != nil {
			t.Fatalf("term %d is still reachable after its end", i)
		}
	}
	if got := len(s.Terms()); got != 900 {
		t.Errorf("%d of the others are left", got)
	}
}

func TestLiveTermsAreKept(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := New(always(Renewed, nil), &Options[int]{Ended: func(_ *Term[int], cause error) { ended <- cause }})
	if _, err := s.Add(7, Config{TTL: 300 * time.Millisecond, Sent: Now(), NoRenewal: true}); err != nil {
		t.Fatal(err)
	}
	s = nil // nobody but the ticker holds the set, nobody but the set the term
	runtime.GC()
	if cause := <-ended; cause != ErrExpired {
		t.Errorf("ended with %v", cause)
	}
}
