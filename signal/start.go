package signal

import "time"

// Connections begin here only, in calls of a waiter: one joins, or has heard an answer. So the
// goroutines of connections never start another one.

// readLocked sees to it that the entry's signal is read. A connection is returned if it is to be
// called back. Where nothing is to be read, no connection begins.
func (h *Hub) readLocked(e *entry) *conn {
	if h.onlyLooksLocked() {
		return nil
	}
	if c := h.homes[e]; c != nil && c.readsLocked(e.name) {
		return nil
	}
	return h.placeLocked(e, time.Now())
}

// placeLocked registers an entry on the young connection of its group. The connection is returned
// if it is to be called back. A name that has come back, and that is read still, keeps its place.
func (h *Hub) placeLocked(e *entry, now time.Time) *conn {
	newcomer := h.homes[e] == nil
	if newcomer && h.stillReadLocked(e) {
		return nil
	}
	group := h.store.Group(e.name)
	g := h.groupLocked(group)
	if newcomer {
		g.names++
	}
	c := g.chooseLocked(e, now)
	if c == nil {
		c = h.startLocked(group)
	}
	return h.gatherLocked(g, c, e)
}

// stillReadLocked registers an entry where its name is read for waiters that have left, and reports
// whether there is such a connection. Reads end late, so that this is often so where one waiter
// follows another. To place it anew would cost all its names their places.
func (h *Hub) stillReadLocked(e *entry) bool {
	for _, c := range h.conns {
		if c.role != roleRetires && c.readsLocked(e.name) && c.roomLocked(e) {
			h.takeLocked(c, e)
			return true
		}
	}
	return false
}

// startLocked makes a connection. It dials in its own goroutine, since a dial takes its time.
func (h *Hub) startLocked(group string) *conn {
	c := newConn(h.born, group)
	h.born++
	h.conns = append(h.conns, c)
	h.running += 2
	r, w := &reader{conn: c, hub: h}, watcher{c, h}
	go r.run() // owned by the hub; ended by Stop or by idleness; Close waits for it
	go w.run() // owned by the hub; ends after the reader; Close waits for it
	return c
}
