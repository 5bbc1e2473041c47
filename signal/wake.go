package signal

import "time"

// What is heard of a name goes to the head of its queue. Signals that concern nobody here go back
// to the store.

// deliver hands signals that were read to whom they concern.
func (h *Hub) deliver(names ...Name) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		e := h.entries[name]
		if e == nil { // its last waiter left as the read was under way
			h.giveBackLocked(name)
			continue
		}
		e.signalled = true
		e.askLocked()
	}
}

// doubt takes in that a signal for the name may have been read and lost. Who waits for it in this
// hub will hear of it by a look. But if nobody does, or all leave before they have asked, a signal
// is given back. One too many wakes somebody for nothing, one too few may leave others asleep.
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

// expired is what an entry's timer calls. Another entry may have the name by then.
func (h *Hub) expired(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entries[e.name] == e {
		e.expireLocked()
	}
}

// learn tells the entries of the names what a look saw that began at asked. Names may have been
// left meanwhile. To an entry that is newer than the look it is old news.
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

// note keeps an error for the waiters of a connection. If ask is true their heads are told to ask:
// the only way left to learn something.
func (h *Hub) note(c *conn, err error, ask bool) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range c.names {
		e.trouble.note(err, now)
		if ask {
			e.askLocked()
		}
	}
}

// fail ends all waiting for the name with an error. It returns false if nobody waits for it, so
// that a name that was left meanwhile does not count as the guilty one.
func (h *Hub) fail(name Name, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[name]
	if e != nil {
		h.failLocked(e, err)
	}
	return e != nil
}

// failAll ends the waiting for all names of a connection.
func (h *Hub) failAll(c *conn, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range c.names {
		h.failLocked(e, err)
	}
}

// failLocked ends all waiting for the entry, which is forgotten. The seats keep the error, by which
// their waiters know that nothing of the hub is theirs any more. A signal that one of them carries
// goes back: the name may be good for other programs.
func (h *Hub) failLocked(e *entry, err error) {
	h.dropLocked(e)
	for p := e.queue.Front(); p != nil; p = p.Next() {
		s := p.Value.(*seat)
		s.err = err
		e.signalled = e.signalled || s.carries
		s.nudge()
	}
	if e.signalled {
		h.giveBackLocked(e.name)
	}
}
