package signal

import "time"

const (
	// settledFor is how long a name must have been left alone before newcomers are kept away from
	// it.
	settledFor = time.Second
	// surplusFor is how long a connection must have been one too many before it hands over.
	surplusFor = time.Second
)

// A blocking read that ends to take in another name costs all its names their places in the store's
// lines. So newcomers, and names whose signal is to be read again after an ask, gather on one
// connection of their group, the young one, and the others are left alone. When a name has settled
// there, the young one becomes one of the others, and the next newcomer gets another.

// readLocked sees to it that the entry's signal is read. A connection is returned if it is to be
// called back. In a hub that was stopped, or whose store refuses blocking reads, nothing is read: there no
// connection begins.
func (h *Hub) readLocked(e *entry) *conn {
	if h.stoppedLocked() || h.degraded || e.conn.readsLocked(e.name) {
		return nil
	}
	return h.placeLocked(e, time.Now())
}

// placeLocked registers an entry on the young connection of its group. The connection is returned
// if it is to be called back. A name that has come back, and that is read still, keeps its place.
func (h *Hub) placeLocked(e *entry, now time.Time) *conn {
	for _, c := range h.conns {
		if e.conn == nil && c.role != roleRetires && c.readsLocked(e.name) && c.roomLocked(e) {
			c.takeLocked(e)
			return nil
		}
	}
	c := h.youngLocked(h.store.Group(e.name), e, now)
	c.takeLocked(e)
	if c.callLocked() {
		return c
	}
	return nil
}

// takeLocked registers the entry here. The blocking read of the connection that had it before goes
// on with it: what a signal sets is the entry's, whichever connection reads it.
func (c *conn) takeLocked(e *entry) {
	if e.conn != nil {
		delete(e.conn.names, e.name)
	}
	e.conn = c
	c.names[e.name] = e
}

// youngLocked returns the connection on which an entry is to be registered that nobody reads yet.
func (h *Hub) youngLocked(group string, e *entry, now time.Time) *conn {
	g := h.groupLocked(group)
	if e.conn == nil {
		g.names++
	}
	young := g.young
	if young == nil || !young.roomLocked(e) || young.settledLocked(e, now) {
		switch {
		case g.empty != nil:
			young = g.empty
		case g.conns < most(g.names):
			young = h.startLocked(group)
		case young != nil && young.roomLocked(e):
		case g.emptiest != nil && g.emptiest.roomLocked(e):
			young = g.emptiest
		default: // all are full, or retire
			young = g.retiring
		}
	}
	if g.young != nil {
		g.young.role = roleServes
	}
	young.role = roleYoung
	return young
}

// most is how many connections a group of so many names may have.
func most(names int) int { return (names+roomPerConn-1)/roomPerConn + 1 }

// A groupState is what the connections of one group are at a moment.
type groupState struct {
	names, conns int
	serving      int   // how many have names
	young        *conn // nil if there is none
	empty        *conn // one that has no names and stays; nil if there is none
	emptiest     *conn // of those with names
	retiring     *conn // one that hands over; nil if there is none
}

func (h *Hub) groupLocked(group string) (g groupState) {
	for _, c := range h.conns {
		if c.group != group {
			continue
		}
		g.conns++
		g.names += len(c.names)
		switch {
		case c.role == roleRetires:
			g.retiring = c
			continue
		case len(c.names) == 0:
			g.empty = c
		default:
			g.serving++
			if g.emptiest == nil || len(c.names) < len(g.emptiest.names) {
				g.emptiest = c
			}
		}
		if c.role == roleYoung {
			g.young = c
		}
	}
	return g
}

// roomLocked reports whether the connection has the entry or can take it.
func (c *conn) roomLocked(e *entry) bool { return e.conn == c || len(c.names) < roomPerConn }

// settledLocked reports whether the connection serves another name that has settled.
func (c *conn) settledLocked(e *entry, now time.Time) bool {
	if c.link == nil {
		return false
	}
	for _, other := range c.names {
		if other != e && other.settledLocked(now) {
			return true
		}
	}
	return false
}

// settledLocked reports whether the entry has been left alone for a while.
func (e *entry) settledLocked(now time.Time) bool {
	return e.quiet() && now.Sub(e.heard) >= settledFor
}

// settleLocked lets c, whose read ends anyway, take the names over that have settled on the young
// connection, where every newcomer would cost them their places.
func (h *Hub) settleLocked(c *conn, now time.Time) {
	young := h.groupLocked(c.group).young
	if c.role != roleServes || young == nil || len(c.names) == 0 {
		return
	}
	for _, e := range young.names {
		if e.settledLocked(now) && c.roomLocked(e) {
			c.takeLocked(e)
		}
	}
}

// startLocked makes a connection. It dials in its own goroutine.
func (h *Hub) startLocked(group string) *conn {
	c := &conn{
		hub:    h,
		number: h.born,
		group:  group,
		kick:   make(chan struct{}, 1),
		fresh:  make(chan struct{}, 1),
		done:   make(chan struct{}),
		names:  make(map[Name]*entry),
	}
	h.born++
	h.conns = append(h.conns, c)
	h.running += 2
	go c.run()   // owned by the hub; ended by Stop or by idleness; Close waits for it
	go c.watch() // owned by the hub; ends after run; Close waits for it
	return c
}

// shrinkLocked has the emptiest connections of the group hand their names over if there have been too
// many for a while. It returns the connections that are to be called back. The blocking read of one
// that hands over goes on until its next look: by then the others read the names.
func (h *Hub) shrinkLocked(group string, now time.Time) (calls []*conn) {
	c := h.surplusLocked(group)
	since, known := h.surplus[group]
	switch {
	case c == nil:
		delete(h.surplus, group)
		return nil
	case !known:
		h.surplus[group] = now
		return nil
	case now.Sub(since) < surplusFor:
		return nil
	}
	delete(h.surplus, group)
	for ; c != nil; c = h.surplusLocked(group) {
		c.role = roleRetires
		for _, e := range c.names {
			if other := h.placeLocked(e, now); other != nil {
				calls = append(calls, other)
			}
		}
	}
	return calls
}

// surplusLocked returns the emptiest connection if the group has more than it may have, and the
// others can serve its names: nil if not. Idle connections do not count: they will close.
func (h *Hub) surplusLocked(group string) *conn {
	g := h.groupLocked(group)
	if h.stoppedLocked() || g.serving <= most(g.names) {
		return nil
	}
	for _, c := range h.conns {
		if c != g.emptiest && c.group == group && c.link == nil {
			return nil
		}
	}
	return g.emptiest
}
