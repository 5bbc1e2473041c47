package signal

import (
	"slices"
	"time"
)

const (
	// roomPerConn is how many names share a connection.
	roomPerConn = 64
	// lookEvery is the time from one look at all names to the next. Redis ends a blocking read up
	// to 100 ms late, and no second may pass without a look.
	lookEvery = 900 * time.Millisecond
	// leastBlock is the shortest blocking read that is asked for.
	leastBlock = 100 * time.Millisecond
	// idleFor is how long a connection without names stays open.
	idleFor = 5 * time.Second
	// surplusFor is how long a connection must have been one too many before it hands over.
	surplusFor = 2 * time.Second
)

// A conn is one wait connection and the goroutine that uses it. It goes from turn to turn: take
// the set of names, look at them if that is due, block until a signal, a call or the next look.
type conn struct {
	hub    *Hub
	number int
	group  string
	kick   chan struct{} // one slot: something changed while it was not blocked

	// The goroutine's own.
	nextLook time.Time // when all names are looked at again; zero: now
	lastWake time.Time // when heads were last told to ask because it was broken
	reading  bool      // a blocking read began, and what became of it is not known

	// Guarded by hub.mu.
	register *register         // shared with the group
	names    map[string]*entry // registered here
	leaving  []*entry          // handed to another connection, and read here until that serves them
	added    []string          // names to look at in the next turn
	turn     []string          // names of the blocking read; kept when it broke, until drop
	blocked  bool              // from taking the names until the blocking read has returned
	called   bool              // it was called back in this turn
	retiring bool              // takes no new names
	surplus  time.Time         // since when it has been one too many; zero: it is not
	link     Conn              // nil: not connected. Set under the mutex so that Close can cut it
}

// run is the connection's goroutine. It ends when the hub is stopped or the connection is not
// needed any more; Hub.Close waits for it.
func (c *conn) run() {
	defer c.hub.exit()
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
	c.servedLocked()
	names = len(c.names)+len(c.leaving) > 0
	if h.stopped || !names && (idle || c.retiring) {
		if i := slices.Index(h.conns, c); i >= 0 {
			h.conns = slices.Delete(h.conns, i, i+1)
		}
		return names, false
	}
	return names, true
}

// servedLocked lets go of the names that were handed over and that their new connection serves.
func (c *conn) servedLocked() {
	c.leaving = slices.DeleteFunc(c.leaving, func(e *entry) bool {
		return e.served || c.hub.entries[e.name] != e
	})
}

// oneTurn does one turn.
func (c *conn) oneTurn() (err error) {
	if err := c.connect(); err != nil {
		return err
	}
	names, look := c.collect()
	defer func() { c.unblock(err == nil) }()
	if err := c.look(look); err != nil {
		return err
	}
	name, err := c.block(names)
	if err != nil {
		return err
	}
	if name != "" {
		c.hub.deliver(name)
	}
	return nil
}

func (c *conn) connect() error {
	if c.link != nil {
		return nil
	}
	link, err := c.hub.store.Connect(c.number)
	if err != nil {
		return err
	}
	c.hub.mu.Lock()
	c.link = link
	c.hub.mu.Unlock()
	c.nextLook = time.Time{}
	return nil
}

// collect takes the names for a turn, and what is to be looked at: all of them if the time has
// come, else those that are new. From here on a new name calls the connection back; a call that
// comes before the blocking read begins is kept by the store. A stopped hub has no names: nobody
// would call the connection back.
func (c *conn) collect() (names []string, look Look) {
	full := time.Until(c.nextLook) < leastBlock
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, Look{}
	}
	c.servedLocked()
	for name, e := range c.names {
		if e.quiet() {
			names = append(names, name)
		}
	}
	if full {
		look = c.lookLocked()
	} else {
		slices.Sort(c.added)
		look.Names = slices.DeleteFunc(slices.Compact(c.added), func(name string) bool {
			return c.names[name] == nil
		})
	}
	for _, e := range c.leaving {
		names = append(names, e.name)
	}
	c.added, c.turn = nil, names
	c.blocked, c.called = len(names) > 0, false
	return names, look
}

// lookLocked returns a look at all names. The first one of a connection leaves the register of who
// waits alone: most waits are over before the second, and would stay there for longer than they took.
func (c *conn) lookLocked() Look {
	look := Look{full: true}
	var waiters []int
	for name, e := range c.names {
		look.Names = append(look.Names, name)
		waiters = append(waiters, e.queue.Len())
	}
	if len(look.Names) > 0 && !c.nextLook.IsZero() {
		look.Waiters = waiters
		c.register.enterLocked(&look)
	}
	return look
}

// look looks at the names and hands the results to the entries.
func (c *conn) look(l Look) error {
	if len(l.Names) == 0 {
		return nil
	}
	asked := time.Now()
	left, err := c.link.Look(l)
	now := time.Now()
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if err != nil {
		c.register.failedLocked(l, c.hub.entries)
		c.nextLook = time.Time{}
		return err
	}
	for i, name := range l.Names {
		if e := c.names[name]; e != nil && i < len(left) {
			e.served = true
			e.learnLocked(left[i], asked, now)
		}
	}
	if l.full {
		c.nextLook = asked.Add(lookEvery)
	}
	return nil
}

// block waits for a signal until the next look is due.
func (c *conn) block(names []string) (string, error) {
	d := max(time.Until(c.nextLook), leastBlock)
	if len(names) == 0 || c.degraded() {
		c.doze(d)
		return "", nil
	}
	c.reading = true
	name, err := c.link.Block(names, d)
	if err == nil {
		c.reading = false
		return name, nil
	}
	switch c.hub.store.Judge(err) {
	case Passes:
		return "", err
	case NoBlock:
		c.degrade(err)
		err = nil
	}
	c.reading = false // it was refused
	return "", err
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

func (c *conn) degraded() bool {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	return c.hub.degraded
}

// unblock ends the turn, and hands the names over if fewer connections would do.
func (c *conn) unblock(clean bool) {
	now := time.Now()
	h := c.hub
	h.mu.Lock()
	c.blocked = false
	if clean {
		c.turn = nil
	}
	calls := h.handOverLocked(c, now)
	h.mu.Unlock()
	for _, other := range calls {
		h.call(other)
	}
}

// callLocked lets the connection look at its set of names again. It returns true if the caller is
// to call it back through the store, once the mutex is free.
func (c *conn) callLocked() bool {
	if c.blocked && !c.hub.degraded {
		first := !c.called
		c.called = true
		return first
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
	return false
}
