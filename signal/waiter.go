package signal

import (
	"container/list"
	"context"
	"time"
)

// A Waiter is one place in the queue for a name. It is used by one goroutine: Wait and Taken in
// turn, and Leave at the end, exactly once.
type Waiter struct {
	hub   *Hub
	entry *entry
	ready chan struct{} // one slot: look again, something about you has changed

	// Guarded by hub.mu.
	place   *list.Element // in entry.queue
	joined  time.Time
	carries bool  // it was told of a signal, and its ask is not answered yet
	err     error // a permanent error of its name
}

// An entry is a name that is waited for. Its fields are guarded by hub.mu.
type entry struct {
	name  Name
	conn  *conn     // on which the name is registered
	queue list.List // of *Waiter; the front is the head

	head      headPhase
	signalled bool // a signal was read since the last ask began

	timer   *time.Timer // fires at expires
	expires time.Time   // when the holder's time is up; zero: not known, or never
	heard   time.Time   // when a head was last told how long, or the first one came
	trouble []trouble   // errors met while waiting, oldest first
	told    any         // what a head has told those behind it
}

// A headPhase says what the head of a queue does.
//
//	asleep      there is news, or the head is a new one -> told
//	told        its Wait returns: it asks               -> asking
//	asking      there is news                           -> told again
//	            it hears the answer                     -> asleep
//	told again  it hears the answer                     -> told
//
// News are a signal, an expiry, and what a look found. When a head leaves, in any phase, the next
// one is told.
type headPhase int

const (
	headAsleep headPhase = iota
	headTold
	headAsking
	headToldAgain // what it was told may be newer than the answer that it waits for
)

// trouble is an error met while waiting.
type trouble struct {
	err error
	at  time.Time
}

// longestTimer bounds how far ahead a timer is set; what is further ahead is looked at anew then.
const longestTimer = 24 * time.Hour

// maxTrouble bounds the errors that are kept for a name.
const maxTrouble = 4

// Join takes a place in the queue for the name; it does not block. left is how long the name is
// still held, if the caller has just asked, else [Unknown]: then the first in the queue is told to
// ask at once. The error is [ErrClosed].
func (h *Hub) Join(name Name, left Left) (*Waiter, error) {
	now := time.Now()
	h.mu.Lock()
	if h.stoppedLocked() {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	e := h.entries[name]
	var call *conn
	if e == nil {
		e, call = h.enterLocked(name, now)
		if left == Unknown {
			e.askLocked()
		}
		e.learnLocked(left, now, now)
	}
	w := &Waiter{hub: h, entry: e, ready: make(chan struct{}, 1), joined: now}
	w.place = e.queue.PushBack(w)
	if e.head == headTold {
		e.wakeLocked()
	}
	h.mu.Unlock()
	h.call(call)
	return w, nil
}

// Queued reports whether anybody waits for the name in this hub.
func (h *Hub) Queued(name Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entries[name] != nil
}

// Wait blocks until it is this waiter's turn to ask for the name, and returns nil; or until ctx
// ends, the hub is stopped ([ErrClosed]) or the name turns out to be one that cannot be waited for,
// and returns the error.
func (w *Waiter) Wait(ctx context.Context) error {
	w.hub.call(w.unanswered())
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if ask, err := w.begin(); ask || err != nil {
			return err
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
		case <-w.hub.stop:
		}
	}
}

// unanswered ends an ask that Taken did not answer: who waits does not ask. It returns the
// connection if it is to be called back.
func (w *Waiter) unanswered() *conn {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	e := w.entry
	if w.err != nil || !e.asking() || e.queue.Front() != w.place {
		return nil
	}
	e.answeredLocked()
	return w.hub.readLocked(e)
}

// begin reports whether the waiter is to ask now. The flag is cleared here, before the ask is sent:
// a signal that comes while the ask is under way sets it again, and the next Wait returns at once,
// even if "taken" was on its way before the signal and arrives after it.
func (w *Waiter) begin() (ask bool, err error) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	e := w.entry
	switch {
	case w.err != nil:
		return false, w.err
	case w.hub.stoppedLocked():
		return false, ErrClosed
	case e.queue.Front() != w.place || e.head != headTold:
		return false, nil
	}
	w.carries = w.carries || e.signalled
	e.head, e.signalled = headAsking, false
	return true, nil
}

// Taken tells the hub what the head's ask was answered: somebody holds the name, for so long. The
// signal that led to the ask, if one did, has served then: whoever holds the name will send another.
func (w *Waiter) Taken(left Left) {
	w.hub.call(w.taken(left))
}

// taken returns the connection if it is to be called back.
func (w *Waiter) taken(left Left) *conn {
	now := time.Now()
	e := w.entry
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if left.held() {
		w.carries = false
	}
	if w.err != nil {
		return nil
	}
	e.learnLocked(left, now, now)
	e.heard = now
	e.answeredLocked()
	return w.hub.readLocked(e)
}

// Leave gives the place up. got says that the waiter has what it asked for, and so has answered for the
// signal that it was told of. If it has not, that goes to the next waiter, or back to the store, as does in
// both cases one that came meanwhile: it may be for another thing that can be had under the name.
func (w *Waiter) Leave(got bool) {
	h, e := w.hub, w.entry
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.err != nil {
		return // the whole entry has gone
	}
	head := e.queue.Front() == w.place
	e.queue.Remove(w.place)
	if !got && w.carries {
		e.signalled = true
	}
	if e.queue.Len() == 0 {
		h.dropLocked(e)
		if e.signalled {
			h.giveBackLocked(e.name)
		}
	} else if head {
		e.head = headTold
		e.wakeLocked()
	}
}

// Tell leaves word for all who wait for the name, until somebody else tells them; nil takes it back. The hub
// does not look at it.
func (w *Waiter) Tell(about any) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.entry.told = about
}

// Told returns what was told last to those who wait for the name, nil for nothing.
func (w *Waiter) Told() any {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return w.entry.told
}

// Trouble returns the errors that the waiter's connection met since the waiter joined.
func (w *Waiter) Trouble() []error {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	var errs []error
	for _, t := range w.entry.trouble {
		if !t.at.Before(w.joined) {
			errs = append(errs, t.err)
		}
	}
	return errs
}

// quiet reports whether a read that begins is to read the entry's signal: its head sleeps, and so do all
// behind it. From when the head is told to ask until it has the answer, the signal is left in the store.
// If it gets the name, the hub should not be the one that reads the signal of its own release, and before
// somebody else's waiter; if it does not, the store has kept what came meanwhile. A read under way goes
// on all the same, for the sake of its other names; what it reads for nobody is given back.
func (e *entry) quiet() bool { return e.head == headAsleep }

// asking reports whether the head has begun to ask, and neither Taken nor Leave has come yet.
func (e *entry) asking() bool { return e.head == headAsking || e.head == headToldAgain }

// wakeLocked lets the head look again.
func (e *entry) wakeLocked() {
	if front := e.queue.Front(); front != nil {
		front.Value.(*Waiter).nudge()
	}
}

func (w *Waiter) nudge() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

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

// learnLocked takes in how long the name is still held. It was asked at asked and is now. What was
// asked before a head heard its answer is older news than the answer, and may only bring the
// expiry nearer.
func (e *entry) learnLocked(left Left, asked, now time.Time) {
	d, timed := left.Time()
	switch {
	case left == Free, left == Foreign:
		e.askLocked()
	case left == Forever && !asked.Before(e.heard):
		e.expires = time.Time{}
		e.timer.Stop()
	case timed:
		expires := now.Add(d + time.Millisecond) // a key is gone when its last millisecond is over
		if asked.Before(e.heard) && !e.expires.IsZero() && expires.After(e.expires) {
			return
		}
		e.expires = expires
		e.timer.Reset(min(expires.Sub(now), longestTimer))
	}
}

// expired is what the timer calls.
func (h *Hub) expired(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entries[e.name] != e || e.expires.IsZero() {
		return
	}
	if left := time.Until(e.expires); left > 0 { // it was moved as it fired, or is more than a day ahead
		e.timer.Reset(min(left, longestTimer))
		return
	}
	e.expires = time.Time{}
	e.askLocked()
}

// noteLocked keeps an error for the waiters' own.
func (e *entry) noteLocked(err error, now time.Time) {
	for i, t := range e.trouble {
		if t.err.Error() == err.Error() {
			e.trouble = append(e.trouble[:i], e.trouble[i+1:]...)
			break
		}
	}
	if len(e.trouble) == maxTrouble {
		e.trouble = e.trouble[1:]
	}
	e.trouble = append(e.trouble, trouble{err, now})
}

// failLocked ends all waiting for the name with an error.
func (h *Hub) failLocked(e *entry, err error) {
	h.dropLocked(e)
	for p := e.queue.Front(); p != nil; p = p.Next() {
		w := p.Value.(*Waiter)
		w.err = err
		e.signalled = e.signalled || w.carries
		w.nudge()
	}
	if e.signalled {
		h.giveBackLocked(e.name)
	}
}
