package signal

import (
	"context"
	"time"
)

// A Waiter is one place in the queue for a name. It is used by one goroutine: [Waiter.Wait] and
// [Waiter.Taken] in turn, and [Waiter.Leave] at the end, exactly once.
type Waiter struct {
	hub   *Hub
	entry *entry
	seat
}

// Join takes a place in the queue for the name. It does not block. left is how long the name is
// still held, if the caller has just asked. If it is [Unknown], the first in the queue is told to
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
	if e == nil { // else the head knows more than left says
		e, call = h.enterLocked(name, now)
		if left == Unknown {
			e.askLocked()
		}
		e.learnLocked(left, now, now)
	}
	w := &Waiter{hub: h, entry: e, seat: seat{ready: make(chan struct{}, 1), joined: now}}
	w.place = e.queue.PushBack(&w.seat)
	if e.head == headTold { // before it had anybody to wake
		e.wakeLocked()
	}
	h.mu.Unlock()
	h.call(call)
	return w, nil
}

// enterLocked makes the entry of a name and registers it on a connection, which is returned if it
// is to be called back.
func (h *Hub) enterLocked(name Name, now time.Time) (*entry, *conn) {
	e := &entry{name: name, heard: now}
	e.timer = time.AfterFunc(time.Hour, func() { h.expired(e) })
	e.timer.Stop()
	h.entries[name] = e
	return e, h.placeLocked(e, now)
}

// Queued reports whether anybody waits for the name in this hub.
func (h *Hub) Queued(name Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entries[name] != nil
}

// Wait blocks until it is this waiter's turn to ask for the name. Then it returns nil. It reports
//
//   - the context's error when ctx has ended,
//   - [ErrClosed] when the hub was stopped,
//   - an error of the store that it judged [Permanent] if the name cannot be waited for.
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

// begin reports whether the waiter is to ask now. What it was told is taken here, before the ask is
// sent. A signal that comes while the ask is under way has the head told again, and the next Wait
// returns at once. That is so even if "taken" was on its way before the signal and arrives after
// it.
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
	w.carries = w.carries || e.signalled // from the last ask, if that was not answered
	e.head, e.signalled = headAsking, false
	return true, nil
}

// Taken tells the hub what the head's ask was answered: somebody holds the name, for so long. It
// does not block. The signal that led to the ask, if one did, has served then: whoever holds the
// name will send another.
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
	if w.err != nil { // the entry has gone while it asked
		return nil
	}
	e.learnLocked(left, now, now)
	e.heard = now
	e.answeredLocked()
	return w.hub.readLocked(e)
}

// Leave gives the place up. It does not block. got says that the waiter has what it asked for. Then
// it has answered for the signal that it was told of.
//
// A signal that the waiter did not answer for goes to the next one. If there is none, it goes back
// to the store. A signal that came since the ask does so in any case: it may be for another thing
// that can be had under the name.
func (w *Waiter) Leave(got bool) {
	h, e := w.hub, w.entry
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.err != nil {
		return // the whole entry has gone
	}
	head := e.queue.Front() == w.place
	e.queue.Remove(w.place)
	if !got && w.carries { // it is the entry's again, until another head asks
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

// Tell leaves word for all who wait for the name, until somebody else tells them. Nil takes the
// word back. The hub does not look at it.
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
	return w.entry.trouble.since(w.joined)
}
