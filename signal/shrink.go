package signal

import "time"

// surplusFor is how long a connection must have been one too many before it hands over. Names that
// come and go in a burst would have connections made and closed all the time.
const surplusFor = time.Second

// shrinkLocked has the emptiest connections of the group hand their names over if there have been
// too many for a while. It returns the connections that are to be called back. The blocking read of
// one that hands over goes on until its next look: by then the others read the names.
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
		calls = append(calls, h.retireLocked(c, now)...)
	}
	return calls
}

// retireLocked has c hand its names over. It returns the connections that are to be called back.
func (h *Hub) retireLocked(c *conn, now time.Time) (calls []*conn) {
	c.role = roleRetires
	for _, e := range c.names {
		g := h.groupLocked(c.group)
		// None is to be started for this: the group has more than it may have.
		if other := h.gatherLocked(g, g.chooseLocked(e, now), e); other != nil {
			calls = append(calls, other)
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
