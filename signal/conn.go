package signal

import (
	"slices"
	"time"
)

const (
	// roomPerConn is how many names share a connection.
	roomPerConn = 64
	// blockFor is how long a blocking read lasts if nothing ends it. The store serves those who
	// block in the order in which they began. A read that ends and begins anew stands at the end of
	// that line, behind the waiters of other programs: so reads are long.
	blockFor = 30 * time.Second
	// idleFor is how long a connection that does not read stays open. A read without waiters goes
	// on until the next look, so that the connection is closed within 5 s.
	idleFor = 4 * time.Second
)

// A conn is one wait connection and its two goroutines. One reads: it goes from turn to turn, takes
// the set of names and blocks until a signal, a call or the end of its time. The other one looks,
// by way of the store, since a connection that blocks cannot.
type conn struct {
	hub    *Hub
	number int
	group  string
	dialer Dialer        // the reading goroutine's own
	kick   chan struct{} // one slot: something changed while it was not blocked
	fresh  chan struct{} // one slot: it was made anew, so look at its names
	done   chan struct{} // closed by the reading goroutine at its end; ends the looking one

	// Guarded by hub.mu.
	names  map[Name]*entry // registered here
	role   connRole
	turn   turnPhase
	reads  []Name    // names whose signals this turn may have read; kept until that is known
	called time.Time // of turnCalled: when it was called back last
	link   Conn      // nil: not connected. Set under the mutex so that Close can cut it
}

// A connRole says what a connection is in its group.
//
//	serves   it has no names, or no other one has room   -> young
//	         it is one too many                          -> retires
//	young    another one becomes the young one           -> serves
//	         it is one too many                          -> retires
//	retires  no other one has room                       -> young
type connRole int

const (
	roleServes  connRole = iota // no newcomers come, but names that have settled
	roleYoung                   // newcomers gather here; one in a group at most
	roleRetires                 // it has handed its names over, and takes none
)

// A turnPhase says what the reading goroutine does.
//
//	awake    it has taken names for a blocking read -> blocked
//	blocked  a call                                 -> called
//	         the read has returned                  -> awake
//	called   the read has returned                  -> awake
type turnPhase int

const (
	turnAwake turnPhase = iota
	turnBlocked
	turnCalled // it was called back: it will take its names anew
)

// run is the goroutine that reads. It ends when the hub is stopped or the connection is not needed
// any more; Hub.Close waits for it.
func (c *conn) run() {
	defer c.hub.exit()
	defer close(c.done)
	c.dialer = c.hub.store.Dialer(c.number)
	defer c.dialer.Hangup()
	defer c.drop()
	for c.needed() {
		if err := c.oneTurn(); err != nil {
			c.recover(err)
		}
	}
}

// needed waits until the connection has names to serve. It returns false when it is to end.
func (c *conn) needed() bool {
	t := time.NewTimer(idleFor)
	defer t.Stop()
	for {
		if names, goOn := c.state(false); names || !goOn {
			return goOn
		}
		select {
		case <-c.kick:
		case <-c.hub.stop:
		case <-t.C:
			if names, goOn := c.state(true); names || !goOn {
				return goOn
			}
			t.Reset(idleFor) // names came and went just now
		}
	}
}

// state reports whether there are names to serve, and whether the connection is to go on at all.
// An idle one, or one that has handed over, leaves the hub here, where no name can come meanwhile.
func (c *conn) state(idle bool) (names, goOn bool) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	names = len(c.names) > 0
	if h.stoppedLocked() || !names && (idle || c.role == roleRetires) {
		if i := slices.Index(h.conns, c); i >= 0 {
			h.conns = slices.Delete(h.conns, i, i+1)
		}
		return names, false
	}
	return names, true
}

// oneTurn does one turn.
func (c *conn) oneTurn() error {
	if err := c.connect(); err != nil {
		return err
	}
	signalled, err := c.block(c.collect())
	c.hub.deliver(signalled...)
	c.unblock(err == nil || c.hub.store.Judge(err) != Passes) // it has ended, or was refused
	return err
}

// connect makes the connection if it is not there. Its names are looked at then: what became of
// them while nobody read their signals is not known.
func (c *conn) connect() error {
	if c.link != nil {
		return nil
	}
	link, err := c.dialer.Dial()
	if err != nil {
		return err
	}
	c.hub.mu.Lock()
	c.link = link
	c.hub.mu.Unlock()
	select {
	case c.fresh <- struct{}{}:
	default:
	}
	return nil
}

// collect takes the names for a turn. From here on a new name calls the connection back; a call
// that comes before the blocking read begins is kept by the store. A stopped hub has no names:
// nobody would call the connection back. Nor has one whose store refuses blocking reads.
func (c *conn) collect() (names []Name) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stoppedLocked() || h.degraded {
		return nil
	}
	h.settleLocked(c, time.Now())
	for name, e := range c.names {
		if e.quiet() {
			names = append(names, name)
		}
	}
	if c.reads = names; len(names) > 0 {
		c.turn = turnBlocked
	}
	return names
}

// block waits for signals.
func (c *conn) block(names []Name) (signalled []Name, err error) {
	if len(names) == 0 {
		c.doze(blockFor)
		return nil, nil
	}
	signalled, err = c.link.Block(names, blockFor)
	if err != nil && c.hub.store.Judge(err) == NoBlock {
		c.degrade(err)
		err = nil
	}
	return signalled, err
}

// doze is what stands in for a blocking read where there is none, or nothing to read.
func (c *conn) doze(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.kick:
	case <-c.hub.stop:
	}
}

// unblock ends the turn. known says that all signals that it read were delivered.
func (c *conn) unblock(known bool) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.turn = turnAwake
	if known {
		c.reads = nil
	}
}

// callLocked lets the connection take its set of names anew. It returns true if the caller is to
// call it back through the store, once the mutex is free.
func (c *conn) callLocked() bool {
	switch c.turn {
	case turnBlocked:
		c.turn, c.called = turnCalled, time.Now()
		return true
	case turnAwake:
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
	return false
}

// readsLocked reports whether a blocking read under way has the name. Every signal since that began
// ends it.
func (c *conn) readsLocked(name Name) bool {
	return c.turn != turnAwake && slices.Contains(c.reads, name)
}
