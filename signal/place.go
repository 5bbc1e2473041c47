package signal

import (
	"slices"
	"time"
)

// placeLocked registers an entry on the fullest connection of its group that has room, so that few
// do, or on a new one. The connection is returned if it is to be called back.
func (h *Hub) placeLocked(e *entry) *conn {
	c := h.roomLocked(h.store.Group(e.name), nil)
	if c == nil {
		c = h.startLocked(h.store.Group(e.name))
	}
	return c.takeLocked(e)
}

// takeLocked registers the entry. The connection is returned if it is to be called back.
func (c *conn) takeLocked(e *entry) *conn {
	e.conn = c
	c.names[e.name] = e
	c.added = append(c.added, e.name)
	return c.readLocked(e)
}

// readLocked sees to it that the connection reads the entry's signal. The connection is returned if
// it is to be called back. A blocking read under way that has the name already serves: every signal
// since it began ends it.
func (c *conn) readLocked(e *entry) *conn {
	if c.blocked && slices.Contains(c.turn, e.name) {
		return nil
	}
	if c.callLocked() {
		return c
	}
	return nil
}

// roomLocked returns the fullest connection of the group with room for one more, other than not.
func (h *Hub) roomLocked(group string, not *conn) *conn {
	var best *conn
	for _, c := range h.conns {
		if c == not || c.group != group || c.retiring || len(c.names) >= roomPerConn {
			continue
		}
		if best == nil || len(c.names) > len(best.names) {
			best = c
		}
	}
	return best
}

// startLocked makes a connection. It dials in its own goroutine.
func (h *Hub) startLocked(group string) *conn {
	c := &conn{
		hub:      h,
		number:   h.born,
		group:    group,
		kick:     make(chan struct{}, 1),
		names:    make(map[string]*entry),
		register: h.registerLocked(group),
	}
	h.born++
	h.conns = append(h.conns, c)
	h.running++
	go c.run() // owned by the hub; ended by Stop or by idleness; Close waits for it
	return c
}

// registerLocked returns the register that all connections of the group share.
func (h *Hub) registerLocked(group string) *register {
	for _, c := range h.conns {
		if c.group == group {
			return c.register
		}
	}
	return newRegister()
}

// handOverLocked lets c, at the end of a turn, hand its names to the others of its group if it has
// been one too many for a while. It returns the connections that are to be called back. Each name
// is read here, too, until its new connection has looked at it; and what a signal sets is the
// entry's, whichever connection reads it.
func (h *Hub) handOverLocked(c *conn, now time.Time) []*conn {
	if !h.surplusLocked(c) {
		c.surplus = time.Time{}
		return nil
	}
	if c.surplus.IsZero() {
		c.surplus = now
	}
	if now.Sub(c.surplus) < surplusFor {
		return nil
	}
	c.retiring = true
	var calls []*conn
	for name, e := range c.names {
		to := h.roomLocked(c.group, c) // there is one: the others have room for all of c's
		delete(c.names, name)
		e.served = false
		c.leaving = append(c.leaving, e)
		if to.takeLocked(e) != nil {
			calls = append(calls, to)
		}
	}
	return calls
}

// surplusLocked reports whether c is the emptiest connection of its group and the others have room
// for all of its names, and can serve them. Idle connections do not count: they will close.
func (h *Hub) surplusLocked(c *conn) bool {
	if c.retiring || h.stopped {
		return false
	}
	room := 0
	for _, other := range h.conns {
		if other == c || other.group != c.group || other.retiring || len(other.names) == 0 {
			continue
		}
		if len(other.names) < len(c.names) || other.link == nil {
			return false
		}
		room += roomPerConn - len(other.names)
	}
	return room > 0 && room >= len(c.names)
}
