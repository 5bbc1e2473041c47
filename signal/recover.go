package signal

import (
	"maps"
	"slices"
	"time"
)

// fruitless is the pause after a permanent error that no name could be found guilty of.
const fruitless = time.Second

// recover deals with an error of a turn. It ends the waiting of the names that the error concerns.
// Without one it makes the connection anew after a pause. Until the pause is over nobody reads for
// its names. The looks go on, and a new link has the names looked at at once.
func (r *reader) recover(err error) {
	h := r.hub
	if h.stopped() { // the error may be of Close's making
		r.drop()
		return
	}
	again := h.pause
	if h.store.Judge(err) != Passes {
		if r.link == nil { // it was the connecting that failed, for whatever name
			h.failAll(r.conn, err)
			return
		}
		failed, probeErr := r.probe()
		switch {
		case probeErr != nil:
			err = probeErr
		case failed > 0:
			return // the others go on, on the same connection
		default: // to try again at once would be a busy loop
			again = func() bool { return h.sleep(fruitless) }
		}
	}
	r.drop()
	h.note(r.conn, err, false) // its names are looked at all the same
	h.options.reconnecting(err)
	again()
}

// probe reads from each name alone, since a store answers for all names when one of them is bad. It
// ends the waiting for those that fail. The error is one of the connection as a whole. A name that
// was registered meanwhile is read in the next turn.
func (r *reader) probe() (failed int, err error) {
	h := r.hub
	for _, name := range r.all() {
		if h.stopped() {
			return failed, ErrClosed
		}
		signalled, err := r.link.Probe(name)
		if signalled { // also with an error
			h.deliver(name)
		}
		if err == nil {
			continue
		}
		switch h.store.Judge(err) {
		case Permanent:
			h.fail(name, err)
			failed++
		case NoBlock:
			r.degrade(err)
		default: // it broke, perhaps with this name's signal
			h.doubt(name)
			return failed, err
		}
	}
	return failed, nil
}

// all returns the names of the connection.
func (r *reader) all() []Name {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	return slices.Collect(maps.Keys(r.names))
}
