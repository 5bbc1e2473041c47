package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/redisconn"
)

var (
	errNoReply = &redisconn.Error{Sent: true, Err: errors.New("cut off")}
	errNotSent = &redisconn.Error{Err: errors.New("no connection")}
)

// cutting returns a cutter of a lease of 30 s with a cut under way.
func cutting(t *testing.T) *cutter {
	t.Helper()
	c := &cutter{longest: 30 * time.Second}
	c.seen(time.Hour)
	if ttl, above, ok := c.begin(); !ok || ttl != 30*time.Second || above != time.Hour-time.Second {
		t.Fatalf("cut to %v above %v, %v", ttl, above, ok)
	}
	return c
}

func wantPhase(t *testing.T, what string, c *cutter, phase cutPhase) {
	t.Helper()
	if c.phase != phase {
		t.Errorf("%s: phase %d, want %d", what, c.phase, phase)
	}
}

func TestCutterPhases(t *testing.T) {
	t.Parallel()
	c := &cutter{longest: 30 * time.Second}
	if c.seen(31 * time.Second) {
		t.Error("a second more is strange")
	}
	wantPhase(t, "a TTL that was asked for", c, cutNone)
	if !c.seen(31*time.Second+time.Millisecond) || c.seen(time.Hour) {
		t.Error("the first strange TTL is told once")
	}
	wantPhase(t, "a strange TTL", c, cutWanted)
	uneven := &cutter{longest: 30*time.Second - time.Microsecond} // Redis was asked for 30 s
	if uneven.seen(31 * time.Second) {
		t.Error("a second more than what a TTL was rounded up to is strange")
	}
	c.seen(30 * time.Second)
	wantPhase(t, "one that was set right", c, cutNone)
	if _, _, ok := c.begin(); ok {
		t.Error("a cut that nobody wants")
	}

	c = cutting(t)
	c.seen(time.Hour)
	wantPhase(t, "an answer while it is under way", c, cutUnderWay)
	if _, _, ok := c.begin(); ok {
		t.Error("two cuts at once")
	}
	c.end(nil)
	wantPhase(t, "answered", c, cutNone)
	for _, err := range []error{errNoReply, errNotSent} {
		c = cutting(t)
		c.end(err)
		wantPhase(t, err.Error(), c, cutWanted)
	}
}

// What is asked for before the cut is about to be sent, the cut leaves.
func TestCutterLeavesWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &cutter{longest: 30 * time.Second}
	c.seen(time.Hour)
	for _, err := range []error{c.ask(ctx, time.Minute), c.add(ctx, time.Minute)} {
		if err != nil {
			t.Error(err)
		}
	}
	if ttl, _, ok := c.begin(); !ok || ttl != 2*time.Minute {
		t.Errorf("cut to %v, %v", ttl, ok)
	}
	c.end(nil)
	if left := c.added(time.Minute, time.Hour); left != 2*time.Minute {
		t.Errorf("believes in %v", left)
	}

	c = &cutter{longest: 30 * time.Second}
	c.seen(time.Hour)
	if err := c.ask(ctx, time.Hour); err != nil {
		t.Error(err)
	}
	if ttl, _, ok := c.begin(); ok {
		t.Errorf("cuts what was asked for to %v", ttl)
	}
}

// What an ExtendBy did not add may be told from what it perhaps did.
func TestCutterAdding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what string
		end  func(*cutter)
		most time.Duration
	}{
		{"added", func(c *cutter) { c.added(time.Minute, 70*time.Second) }, 70 * time.Second},
		{"added to what had run down", func(c *cutter) { c.added(time.Minute, 20*time.Second) }, 30 * time.Second},
		{"not added", func(c *cutter) { c.notAdded(time.Minute, false) }, 30 * time.Second},
		{"perhaps added", func(c *cutter) { c.notAdded(time.Minute, true) }, 90 * time.Second},
	} {
		c := &cutter{longest: 30 * time.Second}
		if err := c.add(context.Background(), time.Minute); err != nil || c.most() != 90*time.Second {
			t.Errorf("%s: %v, at most %v", tt.what, err, c.most())
		}
		if tt.end(c); c.most() != tt.most {
			t.Errorf("%s: at most %v, want %v", tt.what, c.most(), tt.most)
		}
	}
}

// What is added again and again, or at once, with no reply or with none yet, does not go beyond
// what a lease may ask for, and overflows nothing.
func TestCutterAddingIsBounded(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*cutter){
		"unknown":   func(c *cutter) { c.notAdded(365*24*time.Hour, true) },
		"under way": func(*cutter) {},
	} {
		c := &cutter{longest: 30 * time.Second}
		for range 300 { // 292 years are too much for a time.Duration
			if err := c.add(context.Background(), 365*24*time.Hour); err == nil {
				end(c)
			} else if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
			if most := c.most(); most < 365*24*time.Hour || most > MaxTTL {
				t.Fatalf("%s: at most %v", what, most)
			}
		}
	}
}

// While a cut is under way whoever asks for more waits; while it is in doubt he is refused.
func TestCutterRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{nil, errNotSent, errNoReply} {
			c := cutting(t)
			if err := c.ask(t.Context(), 30*time.Second); err != nil {
				t.Errorf("no more than before: %v", err)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := c.ask(short, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a context that ends: %v", err)
			}
			cancel()
			asked := make(chan error, 2)
			go func() { asked <- c.ask(t.Context(), time.Minute) }()
			go func() { asked <- c.add(t.Context(), time.Second) }()
			if synctest.Wait(); len(asked) != 0 || c.most() != 30*time.Second {
				t.Errorf("asked for %v while it is cut", c.most())
			}
			c.end(err)
			for range 2 {
				if got := <-asked; errors.Is(got, ErrInvalid) != (err == errNoReply) {
					t.Errorf("after %v: %v", err, got)
				}
			}
			if err != errNoReply {
				continue
			}
			time.Sleep(janitor.LateLimit - time.Second)
			if err := c.ask(t.Context(), time.Minute); !errors.Is(err, ErrInvalid) {
				t.Errorf("in doubt: %v", err)
			}
			time.Sleep(time.Second)
			if err := c.ask(t.Context(), time.Minute); err != nil {
				t.Errorf("too late to be executed: %v", err)
			}
		}
	})
}

// Whoever raises the TTL again and again makes us send one cut a second.
func TestCutterIsNotHurried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cutter{longest: 30 * time.Second}
		if c.urgent() {
			t.Error("nothing to cut")
		}
		n := 0
		for range 100 {
			if c.seen(time.Hour); c.urgent() {
				n++
				c.begin()
				c.end(nil)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n != 10 {
			t.Errorf("%d cuts in 10 s", n)
		}
	})
}
