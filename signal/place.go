package signal

import "time"

// A blocking read that ends to take in another name costs all its names their places in the store's
// lines. So newcomers, and names whose signal is to be read again after an ask, gather on one
// connection of their group, the young one. The others are left alone. When a name has settled on
// the young one, that becomes one of the others, and the next newcomer gets another.

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

// most is how many connections a group of so many names may have: as few as have room for all, and
// one more. With that newcomers need not share a connection with those who have settled.
func most(names int) int { return (names+roomPerConn-1)/roomPerConn + 1 }

// chooseLocked returns the connection on which an entry is to be registered that nobody reads yet.
// It is nil if another one is to be started.
func (g *groupState) chooseLocked(e *entry, now time.Time) *conn {
	young := g.young
	if young == nil || !young.roomLocked(e) || young.settledLocked(e, now) {
		switch {
		case g.empty != nil:
			return g.empty
		case g.conns < most(g.names):
			return nil
		case young != nil && young.roomLocked(e): // the settled ones have to put up with it
		case g.emptiest != nil && g.emptiest.roomLocked(e):
			return g.emptiest
		default: // all are full, or retire
			return g.retiring
		}
	}
	return young
}

// gatherLocked registers an entry on c, which is the young connection of its group from then on. It
// is returned if it is to be called back.
func (h *Hub) gatherLocked(g groupState, c *conn, e *entry) *conn {
	if g.young != nil {
		g.young.role = roleServes
	}
	c.role = roleYoung
	h.takeLocked(c, e)
	if c.callLocked() {
		return c
	}
	return nil
}

// settleLocked lets c, whose read ends anyway, take the names over that have settled on the young
// connection. There every newcomer would cost them their places.
func (h *Hub) settleLocked(c *conn, now time.Time) {
	young := h.groupLocked(c.group).young
	if c.role != roleServes || young == nil || len(c.names) == 0 {
		return
	}
	for _, e := range young.names {
		if e.settledLocked(now) && c.roomLocked(e) {
			h.takeLocked(c, e)
		}
	}
}
