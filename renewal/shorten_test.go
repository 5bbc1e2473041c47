package renewal

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The store has less left than was believed: the term goes by that, and is renewed at once.
func TestShorten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rec := &recorder{extend: always(Failed, errNet)}
		s := open(t, rec.Extend, nil)
		start := time.Now()
		term := add(t, s)
		time.Sleep(time.Second)
		sent := s.clock()
		time.Sleep(time.Second)
		term.Shorten(sent, 5*time.Second, time.Second)
		checkUntil(t, term, start, 5*time.Second)
		synctest.Wait()
		checkTimes(t, "renewals", rec.times(start)[:1], []time.Duration{2 * time.Second})
		if term.TTL() != ttl {
			t.Errorf("the TTL is %v", term.TTL())
		}
		<-term.Done()
		if time.Since(start) != 5*time.Second || !errors.Is(term.Err(), ErrExpired) {
			t.Errorf("it ended after %v: %v", time.Since(start), term.Err())
		}
	})
}

// What the store had left is over already: the term ends.
func TestShortenToNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		term := add(t, open(t, always(Renewed, nil), nil))
		sent := term.set.clock()
		time.Sleep(time.Second)
		if term.Shorten(sent, time.Second, 0); !errors.Is(term.Err(), ErrExpired) {
			t.Errorf("the term's error is %v", term.Err())
		}
	})
}

// More than is believed moves nothing, nor does what was asked before the last confirmed extend, nor what
// has an end of its own.
func TestShortenStands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, always(Renewed, nil), nil)
		start := time.Now()
		term := add(t, s)
		permanent := addConfig(t, s, Config{TTL: ttl, Margin: margin, NoExpiry: true})
		early := s.clock()
		time.Sleep(time.Second)
		if err := permanent.Confirm(s.clock(), ttl, margin); err != nil {
			t.Fatal(err)
		}
		if err := term.Confirm(s.clock(), ttl, margin); err != nil {
			t.Fatal(err)
		}
		term.Shorten(early, 2*time.Second, 0)
		term.Shorten(s.clock(), 2*ttl, margin)
		permanent.Shorten(s.clock(), time.Millisecond, 0)
		checkUntil(t, term, start, time.Second+ttl-margin)
		if permanent.Err() != nil {
			t.Errorf("the permanent one: %v", permanent.Err())
		}
	})
}
