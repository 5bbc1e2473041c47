package signal

import "time"

const (
	// lookEvery is the time from one look to the next. No second may pass without a look, also
	// where timers are late.
	lookEvery = 900 * time.Millisecond
	// overdue is how long a call back may take. Then it was lost, and is repeated.
	overdue = 500 * time.Millisecond
)

// watch is the goroutine that looks, at the names that are registered when a look begins. It ends
// after the one that reads; Hub.Close waits for it.
func (c *conn) watch() {
	defer c.hub.exit()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			c.tidy()
			c.look(c.plan(true), true)
		case <-c.fresh:
			c.look(c.plan(false), false)
		case <-c.done:
			return
		}
	}
}

// tidy hands the names over if the connection is one too many, and calls it back if nobody waits
// there any more or if the last call was lost.
func (c *conn) tidy() {
	now := time.Now()
	h := c.hub
	h.mu.Lock()
	calls := h.shrinkLocked(c.group, now)
	lost := c.turn == turnCalled && now.Sub(c.called) >= overdue
	if lost {
		c.called = now
	}
	if lost || len(c.names) == 0 && c.callLocked() {
		calls = append(calls, c)
	}
	h.mu.Unlock()
	for _, other := range calls {
		h.call(other)
	}
}

// plan returns a look at all names. One that is made out of turn leaves the register of who waits
// alone: most waits are over before the next one, and would stay there for longer than they took.
func (c *conn) plan(inTurn bool) (l Look) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.hub.stoppedLocked() {
		return Look{}
	}
	for name, e := range c.names {
		l.Names = append(l.Names, name)
		if inTurn {
			l.Waiters = append(l.Waiters, e.queue.Len())
		}
	}
	return l
}

// look looks, and tells the entries what it saw. If it fails, the heads are told to ask instead:
// the store may answer them all the same. That is done in turn only, so once a second at most.
func (c *conn) look(l Look, inTurn bool) {
	if len(l.Names) == 0 {
		return
	}
	h := c.hub
	asked := time.Now()
	left, err := h.store.Look(h.ctx, c.number, l)
	switch {
	case err == nil:
		h.learn(l.Names, left, asked)
	case c.stopped():
	case h.store.Judge(err) != Passes && c.lookEach(l.Names) > 0:
	case inTurn:
		c.note(err, true)
	}
}

// lookEach looks at each name alone, since a store answers for all names when one of them is bad,
// and ends the waiting for those that fail. It returns how many did.
func (c *conn) lookEach(names []Name) (failed int) {
	h := c.hub
	for _, name := range names {
		asked := time.Now()
		left, err := h.store.Look(h.ctx, c.number, Look{Names: []Name{name}})
		switch {
		case err == nil:
			h.learn([]Name{name}, left, asked)
		case h.store.Judge(err) != Permanent:
			return failed
		case h.fail(name, err):
			failed++
		}
	}
	return failed
}

// learn tells the entries of the names what a look saw.
func (h *Hub) learn(names []Name, left []Left, asked time.Time) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, name := range names {
		if e := h.entries[name]; e != nil && i < len(left) {
			e.learnLocked(left[i], asked, now)
		}
	}
}
