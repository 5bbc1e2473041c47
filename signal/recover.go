package signal

import (
	"maps"
	"slices"
	"time"
)

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
	c.note(err, false) // its names are looked at all the same
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
}

// probe reads from each name alone, since a store answers for all names when one of them is bad,
// and ends the waiting for those that fail. The error is one of the connection as a whole.
func (c *conn) probe() (failed int, err error) {
	for _, name := range c.all() {
		if c.stopped() {
			return failed, ErrClosed
		}
		signalled, err := c.link.Probe(name)
		if signalled {
			c.hub.deliver(name)
		}
		if err == nil {
			continue
		}
		switch c.hub.store.Judge(err) {
		case Permanent:
			c.hub.fail(name, err)
			failed++
		case NoBlock:
			c.degrade(err)
		default:
			c.hub.doubt(name)
			return failed, err
		}
	}
	return failed, nil
}

// fail ends all waiting for the name with an error. It returns false if nobody waits for it.
func (h *Hub) fail(name Name, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[name]
	if e != nil {
		h.failLocked(e, err)
	}
	return e != nil
}

// all returns the names of the connection.
func (c *conn) all() []Name {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	return slices.Collect(maps.Keys(c.names))
}

// drop closes a connection. If it is broken a signal may have gone down with it.
func (c *conn) drop() {
	h := c.hub
	h.mu.Lock()
	link := c.link
	c.link = nil
	for _, name := range c.reads {
		h.doubtLocked(name)
	}
	c.reads = nil
	h.mu.Unlock()
	if link != nil {
		link.Close()
	}
}

// doubt takes in that a signal for the name may have been read and lost. Who waits for it in this
// hub will hear of it by a look; but if nobody does, or all leave before they have asked, it is
// given back.
func (h *Hub) doubt(name Name) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubtLocked(name)
}

func (h *Hub) doubtLocked(name Name) {
	if e := h.entries[name]; e != nil {
		e.signalled = true
	} else {
		h.giveBackLocked(name)
	}
}

// note keeps an error for the waiters of the connection, and tells their heads to ask if that is
// wanted.
func (c *conn) note(err error, ask bool) {
	now := time.Now()
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	for _, e := range c.names {
		e.noteLocked(err, now)
		if ask {
			e.askLocked()
		}
	}
}
