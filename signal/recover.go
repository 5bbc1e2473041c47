package signal

import "time"

// fruitless is the pause after a permanent error that no name could be found guilty of.
const fruitless = time.Second

// recover deals with an error of a turn: it ends the waiting of the names that the error concerns,
// and otherwise makes the connection anew after a pause.
func (c *conn) recover(err error) {
	if c.stopped() {
		c.drop()
		return
	}
	again := c.hub.pause
	if c.hub.store.Judge(err) != Passes {
		if c.link == nil { // it was the connecting that failed, for whatever name
			c.failAll(err)
			return
		}
		failed, probeErr := c.probe()
		switch {
		case probeErr != nil:
			err = probeErr
		case failed > 0:
			return
		default:
			again = func() bool { return c.hub.sleep(fruitless) }
		}
	}
	c.drop()
	c.note(err)
	c.hub.options.reconnecting(err)
	again()
}

func (c *conn) stopped() bool {
	select {
	case <-c.hub.stop:
		return true
	default:
		return false
	}
}

// degrade goes on without blocking reads.
func (c *conn) degrade(err error) {
	c.hub.mu.Lock()
	first := !c.hub.degraded
	c.hub.degraded = true
	c.hub.mu.Unlock()
	if first {
		c.hub.options.degraded(err)
	}
}

// failAll ends the waiting for all names of the connection.
func (c *conn) failAll(err error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	for _, e := range c.names {
		c.hub.failLocked(e, err)
	}
	c.leaving = nil
}

// probe tries each name alone, since a store answers for all names when one of them is bad, and
// ends the waiting for those that fail. The error is one of the connection as a whole.
func (c *conn) probe() (failed int, err error) {
	c.nextLook = time.Time{}
	for _, e := range c.entries() {
		if c.stopped() {
			return failed, ErrClosed
		}
		signalled, err := c.link.Probe(e.name)
		if signalled {
			c.hub.deliver(e.name)
		}
		if err == nil {
			continue
		}
		switch c.hub.store.Judge(err) {
		case Permanent:
			c.hub.fail(e, err)
			failed++
		case NoBlock: // the look at it worked
			c.degrade(err)
		default:
			c.hub.doubt(e.name)
			return failed, err
		}
	}
	return failed, nil
}

// fail ends all waiting for the name with an error, unless it has ended.
func (h *Hub) fail(e *entry, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entries[e.name] == e {
		h.failLocked(e, err)
	}
}

func (c *conn) entries() []*entry {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	all := make([]*entry, 0, len(c.names)+len(c.leaving))
	for _, e := range c.names {
		all = append(all, e)
	}
	return append(all, c.leaving...)
}

// drop closes a connection. If it is broken a signal may have gone down with it.
func (c *conn) drop() {
	h := c.hub
	h.mu.Lock()
	link := c.link
	c.link = nil
	if c.reading {
		for _, name := range c.turn {
			h.doubtLocked(name)
		}
	}
	c.reading, c.turn = false, nil
	c.leaving = nil // their new connection will look at them
	h.mu.Unlock()
	if link != nil {
		link.Close()
	}
}

// doubt takes in that a signal for the name may have been read and lost. Who waits for it in this
// hub will hear of it by a look; but if nobody does, or all leave before they have asked, it is
// given back.
func (h *Hub) doubt(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubtLocked(name)
}

func (h *Hub) doubtLocked(name string) {
	if e := h.entries[name]; e != nil {
		e.token = true
	} else {
		h.giveBackLocked(name)
	}
}

// note tells the waiters what the connection met, and lets their heads ask, once a second at most:
// the store may answer them even if it does not take this connection.
func (c *conn) note(err error) {
	now := time.Now()
	wake := now.Sub(c.lastWake) >= time.Second
	if wake {
		c.lastWake = now
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	for _, e := range c.names {
		e.noteLocked(err, now)
		if wake {
			e.askLocked()
		}
	}
}
