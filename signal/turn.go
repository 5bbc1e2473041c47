package signal

import (
	"slices"
	"time"
)

const (
	// blockFor is how long a blocking read lasts if nothing ends it. The store serves those who
	// block in the order in which they began. A read that ends and begins anew stands at the end of
	// that line, behind the waiters of other programs: so reads are long.
	blockFor = 30 * time.Second
	// idleFor is how long a connection that does not read stays open. A read without waiters goes
	// on until the next look, so that the connection is closed within 5 s.
	idleFor = 4 * time.Second
)

// run goes from turn to turn. It ends when the hub is stopped or the connection is not needed any
// more. Hub.Close waits for it. What it owns ends in this order: the link, the dialer, the watcher.
// Only then is it counted out.
func (r *reader) run() {
	defer r.hub.exit()
	defer close(r.done)
	r.dialer = r.hub.store.Dialer(r.number)
	defer r.dialer.Hangup()
	defer r.drop()
	for r.needed() {
		if err := r.oneTurn(); err != nil {
			r.recover(err)
		}
	}
}

// needed waits until the connection has names to serve. It returns false when it is to end. A kick
// may be an old one, from before the last turn. So the state is looked at, and not the kick.
func (r *reader) needed() bool {
	t := time.NewTimer(idleFor)
	defer t.Stop()
	for {
		if names, goOn := r.state(false); names || !goOn {
			return goOn
		}
		select {
		case <-r.kick:
		case <-r.hub.stop:
		case <-t.C:
			if names, goOn := r.state(true); names || !goOn {
				return goOn
			}
			t.Reset(idleFor) // names came and went just now
		}
	}
}

// state reports whether there are names to serve, and whether the connection is to go on at all. An
// idle one, or one that has handed over, leaves the hub here, where no name can come meanwhile.
func (r *reader) state(idle bool) (names, goOn bool) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	names = len(r.names) > 0
	if h.stoppedLocked() || !names && (idle || r.role == roleRetires) {
		if i := slices.Index(h.conns, r.conn); i >= 0 {
			h.conns = slices.Delete(h.conns, i, i+1)
		}
		return names, false
	}
	return names, true
}

// oneTurn does one turn. The signals that it read are delivered before it is known to be over, also
// when an error came with them.
func (r *reader) oneTurn() error {
	if err := r.connect(); err != nil {
		return err
	}
	signalled, err := r.block(r.collect())
	r.hub.deliver(signalled...)
	r.unblock(err == nil || r.hub.store.Judge(err) != Passes) // it has ended, or was refused
	return err
}

// collect takes the names for a turn. The names are taken and the turn begins under one mutex. So a
// name either is among them, or finds the connection blocked and calls it back. A call that comes
// before the blocking read begins is kept by the store.
func (r *reader) collect() (names []Name) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.onlyLooksLocked() {
		return nil
	}
	h.settleLocked(r.conn, time.Now())
	for name, e := range r.names {
		if e.quiet() {
			names = append(names, name)
		}
	}
	if r.reads = names; len(names) > 0 { // else it dozes, and a kick ends that
		r.turn = turnBlocked
	}
	return names
}

// block waits for signals. Without names it waits for something to change. A refusal of blocking
// reads is no error of the connection, which goes on without them.
func (r *reader) block(names []Name) (signalled []Name, err error) {
	if len(names) == 0 {
		r.doze(blockFor)
		return nil, nil
	}
	signalled, err = r.link.Block(names, blockFor)
	if err != nil && r.hub.store.Judge(err) == NoBlock {
		r.degrade(err)
		err = nil
	}
	return signalled, err
}

// doze is what stands in for a blocking read where there is none, or nothing to read.
func (r *reader) doze(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.kick:
	case <-r.hub.stop:
	}
}

// unblock ends the turn. known says that no signal can have been read and not delivered. Otherwise
// the names of the turn are kept, for drop to doubt.
func (r *reader) unblock(known bool) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.turn = turnAwake
	if known {
		r.reads = nil
	}
}
