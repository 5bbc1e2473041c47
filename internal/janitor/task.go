package janitor

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// To close a connection is not the end of what was written on it. The kernel goes on sending what
// the other side has not acknowledged, at growing intervals. After a cut of the network a command
// can be executed long after its call was given up. Three things stand against that, each where the
// one before it does not work:
//
//  1. The connection that comes next has Redis end the one that was given up (CLIENT KILL).
//  2. A connection is closed by a reset while calls are in flight, which has the kernel forget
//     them.
//  3. What a given-up acquire may take is released again and again, by its id, for as long as the
//     kernel may go on sending.
//
// The late visits are the third. They go by the id alone and know nothing of the connection, so
// they work with every dialer, proxy and server. They cost six small scripts for a call that was
// given up.

// lateVisits are when the janitor comes back for what may be executed late, counted from when the
// call was given up. The connection is closed an operation limit after that at the latest. When the
// last visit comes no kernel sends any more.
var lateVisits = [...]time.Duration{
	store.OperationLimit, 6 * time.Second, 14 * time.Second, 30 * time.Second, time.Minute, LateLimit,
}

// LateLimit is for how long a given-up command may be executed: 110 s after the close of its
// connection.
const LateLimit = 110*time.Second + store.OperationLimit

// LetExpire is what is left to a holding without expiry that is left to expire.
const LetExpire = 30 * time.Second

// forEver is for what is tried until the janitor is closed.
const forEver = 100 * 365 * 24 * time.Hour

// nextVisit returns when to come back next. ok is false if nothing can be executed any more. All
// but the first visits fall on whole seconds since began, so that many are made together.
func nextVisit(began, since, now time.Time) (next time.Time, ok bool) {
	for i, after := range lateVisits {
		next := since.Add(after)
		if i > 0 {
			next = began.Add((next.Sub(began) + time.Second - 1).Truncate(time.Second))
		}
		if next.After(now) {
			return next, true
		}
	}
	return time.Time{}, false
}

// A chore is what is to be done with a holding.
type chore int

const (
	toRelease chore = iota
	toExpire        // if it is held still, give it a TTL
	toRepair        // give a signal if it is free
	chores          // how many there are
)

// A Task is one holding to see to: to release it, if the janitor makes nothing else of it.
type Task struct {
	What     store.Holding
	Due      time.Time // when it is to be done
	Until    time.Time // when it does not matter any more: the key has expired by itself, say
	Keep     time.Time // until when nobody may have the holding; zero: it is free at once
	NoExpiry bool      // the holding does not expire by itself

	chore  chore
	blocks Blocked // it is the end of this Block that is to be signalled

	// Of a task that comes back for what may be executed late:
	since    time.Time     // when that was given up; zero: the task comes once
	life     time.Duration // how long the task matters after a visit
	answered time.Time     // when Redis first answered; zero: not yet
}

// Blocked says what a Block keeps, and the id that it put there. The zero value is no Block.
type Blocked struct{ Name, ID string }

// visited reports whether a late task has been done, and only comes back.
func (t *Task) visited() bool { return !t.answered.IsZero() }

// late reports whether the task comes back for what may be executed late.
func (t *Task) late() bool { return !t.since.IsZero() }

// isMinimum reports whether the task is the end of a minimum.
func (t *Task) isMinimum() bool { return t.chore == toRepair && t.blocks == (Blocked{}) }

// Release returns the script that releases what the task is about.
func (t *Task) Release() store.Run {
	keep := time.Duration(0)
	if !t.Keep.IsZero() {
		keep = max(time.Until(t.Keep), 0)
	}
	return t.What.Release(keep)
}

// leftToExpire returns what is left of the TTL that a holding without expiry was given first: a
// late visit does not give it to it anew.
func (t *Task) leftToExpire() time.Duration {
	if !t.visited() {
		return LetExpire
	}
	return max(LetExpire-time.Since(t.answered), time.Millisecond)
}

// patience is for how long a signal is tried to be given that is due. Then it is left to waiters'
// looks.
const patience = time.Minute

// atEnd returns the task to give a signal when a minimum is over, or a Block. by is how much later
// that may be than it should. Redis expires a key when its time is past, not when it is up, and
// counts whole milliseconds.
func (t Task) atEnd(by time.Duration) Task {
	due := t.Keep.Add(by + 2*time.Millisecond)
	return Task{What: t.What, Keep: t.Keep, blocks: t.blocks, chore: toRepair, Due: due, Until: due.Add(patience)}
}

// keeps reports whether the task is the end of a Block that put this value there.
func (t *Task) keeps(name, value string) bool {
	return t.blocks.Name == name && t.blocks.ID+owner.KeptSuffix == value
}
