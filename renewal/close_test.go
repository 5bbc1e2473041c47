package renewal

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ended := 0
		s := New(always(Renewed, nil), &Options[int]{Ended: func(_ *Term[int], cause error) {
			if ended++; cause != errDone {
				t.Errorf("Ended with %v", cause)
			}
		}})
		first, second := add(t, s), addConfig(t, s, Config{TTL: ttl, NoRenewal: true})
		s.Close(errDone)
		s.Close(errNet)
		checkEnded(t, first, errDone)
		checkEnded(t, second, errDone)
		if ended != 2 || len(s.Terms()) != 0 {
			t.Errorf("Ended was called %d times, %d terms are left", ended, len(s.Terms()))
		}
		if _, err := s.Add(7, Config{TTL: ttl, Sent: Now()}); !errors.Is(err, ErrClosed) {
			t.Errorf("Add after Close: %v", err)
		}
	})
}

func TestCloseOfAnUnusedSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := New(always(Renewed, nil), nil)
		s.Close(nil)
		if len(s.Terms()) != 0 {
			t.Error("terms in an unused set")
		}
	})
}

func TestCloseWaitsForTheBatchUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := New(replying(time.Second, always(NotOwner, nil)), nil)
		term := add(t, s)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		start := time.Now()
		go s.Close(nil)
		synctest.Wait()
		checkEnded(t, term, ErrClosed) // the beliefs end at once
		if s.Close(nil); time.Since(start) != time.Second {
			t.Errorf("Close returned after %v", time.Since(start))
		}
		checkEnded(t, term, ErrClosed)
	})
}

func TestCloseDoesNotHideAnExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := New(always(Failed, errNet), nil)
		term := add(t, s)
		stopTimers(s)
		time.Sleep(belief)
		s.Close(errDone)
		checkEnded(t, term, ErrExpired, errNet)
	})
}

func TestAddAfterValidUntil(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		sent := Now()
		time.Sleep(belief)
		term, err := s.Add(7, Config{TTL: ttl, Margin: margin, Sent: sent})
		if !errors.Is(err, ErrExpired) || term != nil {
			t.Errorf("Add at validUntil: %v, %v", term, err)
		}
		if len(s.Terms()) != 0 {
			t.Error("the term was kept")
		}
	})
}

func TestMarginBelowZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		term := addConfig(t, open(t, always(Renewed, nil), nil), Config{TTL: ttl, Margin: -ttl})
		checkUntil(t, term, start, ttl)
	})
}

func TestNewWithoutExtendPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New[int](nil, nil)
}
