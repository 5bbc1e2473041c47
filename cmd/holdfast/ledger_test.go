package main

import (
	"strings"
	"testing"
	"time"
)

// The demo is believed only because it would notice.
func TestLedgerNotices(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	hold := func(worker string, ms int, fence int64) event {
		return event{
			Worker: worker, Lock: "x", Fence: fence, Waited: time.Second,
			At: at(ms), read: at(ms), Until: at(ms + 1000),
		}
	}
	for _, c := range []struct {
		name string
		play func(*ledger)
		want string // in what is broken; "": nothing is
	}{
		{"a handover", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.end("x", "a", unlocking, at(500))
			l.acquire(hold("b", 501, 2))
		}, ""},
		{"two holders", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.acquire(hold("b", 500, 2))
		}, "two holders at once: b got"},
		{"two holders after a renewal", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.renew(hold("a", 900, 0))
			l.acquire(hold("b", 1100, 2))
		}, "two holders at once: b got"},
		{"a lease that ended unnoticed", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.acquire(hold("b", 1100, 2))
		}, ""},
		{"the same token again", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.end("x", "a", unlocking, at(500))
			l.acquire(hold("b", 501, 1))
		}, "the fencing token of b, 1, is not greater"},
		{"a takeover in time", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.end("x", "a", killed, at(1000))
			l.acquire(hold("b", 1002, 2))
		}, ""},
		{"a takeover too early", func(l *ledger) {
			l.acquire(hold("a", 0, 1))
			l.end("x", "a", killed, at(1000))
			l.acquire(hold("b", 900, 2))
		}, "b got \"x\" 100.00 ms before the dead holder's key expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger()
			c.play(l)
			got := strings.Join(l.broken, "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("broken: %q, want %q", got, c.want)
			}
		})
	}
}

func TestLedgerMeasures(t *testing.T) {
	t.Parallel()
	l, now := newLedger(), time.Now()
	for i, ms := range []int{4, 2, 3} {
		l.acquire(event{Worker: "a", Lock: "x", Fence: int64(2*i + 1), At: now})
		l.end("x", "a", unlocking, now)
		l.acquire(event{
			Worker: "b", Lock: "x", Fence: int64(2*i + 2), Waited: time.Second,
			At: now.Add(time.Duration(ms) * time.Millisecond),
		})
		l.end("x", "b", unlocking, now)
	}
	if p50, worst := l.median(); p50 != 3*time.Millisecond || worst != 4*time.Millisecond {
		t.Errorf("p50 %v, worst %v, want 3ms and 4ms", p50, worst)
	}
}
