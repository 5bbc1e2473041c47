package signal

import (
	"container/list"
	"time"
)

// settledFor is how long a name must have been left alone before newcomers are kept away from it.
const settledFor = time.Second

// An entry is a name that is waited for, and the queue for it. Its fields are guarded by hub.mu. It
// lives from the first Join to the last Leave. The next Join makes another one.
type entry struct {
	name  Name
	queue list.List // of *seat; the front is the head
	head  headPhase
	told  any // what a head has told those behind it

	// A signal was read since the last ask began. If nobody asks any more, it is given back: the
	// waiters of other programs may have no other news.
	signalled bool

	timer   *time.Timer // fires at expires
	expires time.Time   // when the holder's time is up; zero: not known, or never
	heard   time.Time   // when a head last heard an answer; when the first one came, before that
	trouble troubles    // errors met while waiting
}

// A seat is a waiter's place in the queue. All but ready is guarded by hub.mu.
type seat struct {
	ready   chan struct{} // one slot: look again, something about you has changed
	place   *list.Element // in entry.queue
	joined  time.Time
	carries bool  // it was told of a signal, and its ask is not answered yet
	err     error // a permanent error of its name; its entry is gone
}

// A headPhase says what the head of a queue does.
//
//	asleep      there is news       -> told
//	told        its Wait returns    -> asking
//	asking      there is news       -> told again
//	            it hears the answer -> asleep
//	told again  it hears the answer -> told
//
// News are a signal, an expiry, and what a look found. They count also while the head asks: its
// answer may be on the way already, and older than the news. When a head leaves, in any phase, the
// next one is told: the last signal may have been for its forerunner.
type headPhase int

const (
	headAsleep headPhase = iota
	headTold
	headAsking
	headToldAgain
)

// askLocked tells the head to ask.
func (e *entry) askLocked() {
	switch e.head {
	case headAsleep:
		e.head = headTold
	case headAsking:
		e.head = headToldAgain
	}
	e.wakeLocked()
}

// answeredLocked takes in that the head does not ask any more.
func (e *entry) answeredLocked() {
	switch e.head {
	case headAsking:
		e.head = headAsleep
	case headToldAgain:
		e.head = headTold
	}
}

// asking reports whether the head has begun to ask, and has not heard the answer.
func (e *entry) asking() bool { return e.head == headAsking || e.head == headToldAgain }

// quiet reports whether a read that begins is to read the entry's signal: its head sleeps, and so
// do all behind it. From when the head is told to ask until it has the answer, the signal is left
// in the store.
//
//   - If the head gets the name, the hub should not read the signal of its own release, and so
//     before somebody else's waiter.
//   - If it does not, the store has kept what came meanwhile.
//
// A read under way goes on all the same, for the sake of its other names. What it reads for nobody
// is given back.
func (e *entry) quiet() bool { return e.head == headAsleep }

// settledLocked reports whether the entry has been left alone for a while.
func (e *entry) settledLocked(now time.Time) bool {
	return e.quiet() && now.Sub(e.heard) >= settledFor
}

// wakeLocked lets the head look again.
func (e *entry) wakeLocked() {
	if front := e.queue.Front(); front != nil {
		front.Value.(*seat).nudge()
	}
}

// nudge lets the waiter look again. It never blocks: a nudge that the waiter has not taken yet
// serves for this one too.
func (s *seat) nudge() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}
