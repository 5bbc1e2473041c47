package signal

import "time"

const (
	// lookEvery is the time from one look to the next. No second may pass without a look, also
	// where timers are late.
	lookEvery = 900 * time.Millisecond
	// overdue is how long a call back may take. Then it was lost, and is repeated.
	overdue = 500 * time.Millisecond
)

// A watcher is the goroutine of a connection that looks, at the names that are registered when a
// look begins. Signals are hints that can get lost: with their reader, with the server, or because
// they expired. A look finds in a second what a signal did not tell.
type watcher struct {
	*conn
	hub *Hub
}

// run looks at each tick, and when the reader has connected. It ends after the reader. Hub.Close
// waits for it. A look that takes longer than a tick delays the next one: there is never more than
// one under way.
func (w watcher) run() {
	defer w.hub.exit()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w.tidy()
			w.look(w.plan(true), true)
		case <-w.fresh:
			w.look(w.plan(false), false)
		case <-w.done:
			return
		}
	}
}

// tidy hands the names over if the connection is one too many. It calls the connection back if
// nobody waits there any more or if the last call was lost. The watcher does it since the reader
// may be blocked, for half a minute.
func (w watcher) tidy() {
	now := time.Now()
	h := w.hub
	h.mu.Lock()
	calls := h.shrinkLocked(w.group, now)
	lost := w.turn == turnCalled && now.Sub(w.called) >= overdue
	if lost {
		w.called = now // the next repetition is due as much later
	}
	if lost || len(w.names) == 0 && w.callLocked() {
		calls = append(calls, w.conn)
	}
	h.mu.Unlock()
	for _, c := range calls {
		h.call(c)
	}
}

// plan returns a look at all names. One that is made out of turn leaves the register of who waits
// alone. Most waits are over before the next one, and would stay there for longer than they took.
func (w watcher) plan(inTurn bool) (l Look) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.hub.stoppedLocked() {
		return Look{}
	}
	for name, e := range w.names {
		l.Names = append(l.Names, name)
		if inTurn { // else nil
			l.Waiters = append(l.Waiters, e.queue.Len())
		}
	}
	return l
}

// look looks, and tells the entries what it saw. If it fails, the heads are told to ask instead:
// the store may answer them all the same. That is done in turn only, so once a second at most.
func (w watcher) look(l Look, inTurn bool) {
	if len(l.Names) == 0 {
		return
	}
	h := w.hub
	asked := time.Now()
	left, err := h.store.Look(h.ctx, w.number, l)
	switch {
	case err == nil:
		h.learn(l.Names, left, asked)
	case h.stopped(): // its context has ended
	case h.store.Judge(err) != Passes && w.lookEach(l.Names) > 0:
	case inTurn:
		h.note(w.conn, err, true)
	}
}

// lookEach looks at each name alone, since a store answers for all names when one of them is bad.
// It ends the waiting for those that fail, and returns how many did.
func (w watcher) lookEach(names []Name) (failed int) {
	h := w.hub
	for _, name := range names {
		asked := time.Now()
		left, err := h.store.Look(h.ctx, w.number, Look{Names: []Name{name}})
		switch {
		case err == nil:
			h.learn([]Name{name}, left, asked)
		case h.store.Judge(err) != Permanent: // the store's trouble, and not the name's
			return failed
		case h.fail(name, err):
			failed++
		}
	}
	return failed
}
