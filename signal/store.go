package signal

import (
	"context"
	"time"
)

// A Name is what is waited for. The hub only compares names.
type Name struct {
	Kind string // what kind of thing it is: "" for the plain one
	Name string
}

// A Store is what a [Hub] waits in. Its methods are called from several goroutines.
type Store interface {
	// Dialer returns what makes wait connection number k. It does not block.
	Dialer(k int) Dialer
	// Wake makes the blocking read of connection k return soon, also when it begins only later. It
	// does not block. A wake-up that gets lost is repeated after a second.
	Wake(k int)
	// Look returns for each name of wait connection k how long it is still held. It does not use
	// that connection, which may be blocked. It blocks until ctx ends, at most for the operation
	// limit.
	Look(ctx context.Context, k int, l Look) ([]Left, error)
	// GiveBack puts a signal back that was read and not used. It blocks at most for the operation
	// limit.
	GiveBack(name Name) error
	// Group returns which names may share a connection: those of one group. It does not block, and
	// calls no method of the hub, which holds its mutex meanwhile.
	Group(name Name) string
	// Judge says what an error of these methods, or of a connection's, means. It does not block.
	Judge(err error) Verdict
}

// A Verdict says what an error means for waiting.
type Verdict int

// The verdicts.
const (
	Passes    Verdict = iota // on a new connection it may work
	Permanent                // it will not work, for one of the names at least
	NoBlock                  // the store refuses blocking reads as such
)

// A Dialer makes one wait connection, and makes it anew when it broke. One goroutine uses it.
type Dialer interface {
	// Dial returns the connection. It blocks at most for the operation limit.
	Dial() (Conn, error)
	// Hangup gives up a dial under way. The dialer is not used after it.
	Hangup()
}

// A Conn is one wait connection. One goroutine uses it at a time. Only Close may be called beside
// another method, which it ends.
type Conn interface {
	// Block waits for a signal for one of the names, at most for d. It returns the names whose
	// signals it read: all that were there when the first one came. It returns none if the time is
	// up or the connection was woken. Names count also when an error comes with them. Block has a
	// limit of its own a little beyond d.
	Block(names []Name, d time.Duration) (signalled []Name, err error)
	// Probe does what Block does for this name alone, without waiting, and reports whether it read
	// a signal.
	Probe(name Name) (signalled bool, err error)
	// Close ends the connection. It may be called more than once.
	Close()
}

// A Look is one look at the names of a wait connection.
type Look struct {
	Names []Name
	// Waiters says how many wait for each of Names. With it the look writes the connection's
	// register of who waits anew. Nil: the register is left alone.
	Waiters []int
}
