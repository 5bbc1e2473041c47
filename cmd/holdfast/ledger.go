package main

import (
	"fmt"
	"slices"
	"time"
)

// A ledger keeps what the events prove, and holds the demo's claims against it.
type ledger struct {
	held  map[string]*holding // by lock
	ended map[string]ending   // how a lock's last holding ended
	fence map[string]int64    // a lock's last token

	acquired, renewals, resets int
	handovers                  []time.Duration // from a release to a waiter's holding the lock
	takeover, woken            time.Duration   // after a crash, and after a reset

	broken []string // the claims that did not hold
}

// A holding is one acquisition that has not ended.
type holding struct {
	worker   string
	at       time.Time // of the acquisition
	until    time.Time // when the lease ends if it is not renewed again
	renewals int
}

// An ending is why nobody, or somebody else, holds a lock.
type ending struct {
	how    what      // unlocking, lost, resetting, or killed
	worker string    // the holder
	at     time.Time // when the others could have it: the key's expiry if the holder was killed
}

const killed what = "killed" // never reported: the demo does it

func newLedger() *ledger {
	return &ledger{
		held: map[string]*holding{}, ended: map[string]ending{}, fence: map[string]int64{},
	}
}

// acquire notes that a worker holds a lock. It returns how the holding before that had ended, if
// there was one, and how long ago.
func (l *ledger) acquire(e event) (before ending, delay time.Duration) {
	l.acquired++
	if h := l.held[e.Lock]; h != nil && e.At.Before(h.until) {
		l.fail("two holders at once: %s got %q while the lease of %s was good for another %s",
			e.Worker, e.Lock, h.worker, milliseconds(h.until.Sub(e.At)))
	}
	if e.Fence <= l.fence[e.Lock] {
		l.fail("the fencing token of %s, %d, is not greater than the one before, %d",
			e.Worker, e.Fence, l.fence[e.Lock])
	}
	l.fence[e.Lock] = e.Fence
	l.held[e.Lock] = &holding{worker: e.Worker, at: e.At, until: e.Until}

	before = l.ended[e.Lock]
	delete(l.ended, e.Lock)
	switch delay = e.At.Sub(before.at); before.how {
	case unlocking:
		if before.worker != e.Worker && 0 <= delay && delay < e.Waited {
			l.handovers = append(l.handovers, delay)
		}
	case resetting:
		l.woken = delay
	case killed: // the demo told the time of expiry, by its monotonic clock
		delay = e.read.Sub(before.at)
		l.takeover = delay
		if delay < -early {
			l.fail("%s got %q %s before the dead holder's key expired",
				e.Worker, e.Lock, milliseconds(-delay))
		}
	}
	return before, delay
}

// early is how exactly the time of a key's expiry is known: Redis tells whole milliseconds.
const early = 2 * time.Millisecond

// renew notes a renewal and returns which one of the lease it was.
func (l *ledger) renew(e event) int {
	l.renewals++
	h := l.held[e.Lock]
	if h == nil || h.worker != e.Worker {
		return 0 // confirmed just when the lease ended
	}
	h.until = e.Until
	h.renewals++
	return h.renewals
}

// end notes that a worker's holding ended, and returns what it was.
func (l *ledger) end(lock, worker string, how what, at time.Time) holding {
	h := l.held[lock]
	if h == nil || h.worker != worker {
		return holding{worker: worker, at: at}
	}
	delete(l.held, lock)
	l.ended[lock] = ending{how, worker, at}
	return *h
}

// reset notes that the locks that a killed worker left are about to be reset.
func (l *ledger) reset(e event) {
	for lock, was := range l.ended {
		if was.how == killed && was.worker == e.Worker {
			l.ended[lock] = ending{resetting, was.worker, e.At}
		}
	}
}

// fail notes that a claim does not hold.
func (l *ledger) fail(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

// median returns the median and the worst of the handovers, 0 if there were none.
func (l *ledger) median() (p50, worst time.Duration) {
	if len(l.handovers) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(l.handovers))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}
