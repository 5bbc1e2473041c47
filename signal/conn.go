package signal

import (
	"slices"
	"time"
)

// roomPerConn is how many names share a connection.
const roomPerConn = 64

// A conn is what the hub knows of one wait connection. It is served by two goroutines. A reader
// goes from turn to turn. It takes the set of names and blocks until a signal, a call or the end of
// its time. A watcher looks, by way of the store, since a connection that blocks cannot.
type conn struct {
	number int
	group  string
	kick   chan struct{} // one slot: something changed while it was not blocked
	fresh  chan struct{} // one slot: it was made anew, so look at its names
	done   chan struct{} // closed by the reader at its end; ends the watcher

	// Guarded by hub.mu.
	names  map[Name]*entry // registered here, and nowhere else
	role   connRole
	turn   turnPhase
	reads  []Name    // names whose signals this turn may have read; kept until that is known
	called time.Time // of turnCalled: when it was called back last
	link   Conn      // nil: not connected. Only the reader uses it, but Close may cut it
}

// A connRole says what a connection is in its group.
//
//	serves   it has no names, or no other one has room -> young
//	         it is one too many                        -> retires
//	young    another one becomes the young one         -> serves
//	         it is one too many                        -> retires
//	retires  no other one has room                     -> young
type connRole int

const (
	roleServes  connRole = iota // no newcomers come, but names that have settled
	roleYoung                   // newcomers gather here; one in a group at most
	roleRetires                 // it has handed its names over, and takes none
)

// A turnPhase says what the reader does.
//
//	awake    it has taken names for a blocking read -> blocked
//	blocked  a call                                 -> called
//	         the read has returned                  -> awake
//	called   the read has returned                  -> awake
//
// It is blocked before its read begins. A call that comes in between is kept by the store, and ends
// the read at once: none falls into a gap.
type turnPhase int

const (
	turnAwake turnPhase = iota
	turnBlocked
	turnCalled // it was called back: it will take its names anew
)

func newConn(number int, group string) *conn {
	return &conn{
		number: number,
		group:  group,
		kick:   make(chan struct{}, 1),
		fresh:  make(chan struct{}, 1),
		done:   make(chan struct{}),
		names:  make(map[Name]*entry),
	}
}

// callLocked lets the connection take its set of names anew. It returns true if the caller is to
// call it back through the store, once the mutex is free: the store may take its time.
func (c *conn) callLocked() bool {
	switch c.turn {
	case turnBlocked:
		c.turn, c.called = turnCalled, time.Now()
		return true
	case turnAwake:
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
	return false
}

// readsLocked reports whether a blocking read under way has the name. Every signal since that began
// ends it.
func (c *conn) readsLocked(name Name) bool {
	return c.turn != turnAwake && slices.Contains(c.reads, name)
}

// roomLocked reports whether the connection has the entry or can take it.
func (c *conn) roomLocked(e *entry) bool {
	return c.names[e.name] == e || len(c.names) < roomPerConn
}

// settledLocked reports whether the connection serves another name that has settled. Without a link
// no name has a place in the store's lines that it could lose.
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
