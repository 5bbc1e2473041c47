package signal

import "time"

// What is known of how long a name is still held; any other value is the time left.
const (
	Free    time.Duration = -2 // nobody holds it
	Forever time.Duration = -1 // held without expiry
	Foreign time.Duration = -3 // something else is in its place: only an ask can tell what
	Unknown time.Duration = -4 // it was not asked
)

// A Store is what a [Hub] waits in. Its methods are called from several goroutines.
type Store interface {
	// Connect opens wait connection number k. It blocks at most for the operation limit.
	Connect(k int) (Conn, error)
	// Wake makes the blocking read of connection k return soon, also when it begins only later. It
	// does not block. A wake-up that gets lost costs the rest of the read.
	Wake(k int)
	// GiveBack puts a signal back that was read and not used. It blocks at most for the operation
	// limit.
	GiveBack(name string) error
	// Group returns which names may share a connection: those of one group.
	Group(name string) string
	// Judge says what an error of these methods, or of a connection's, means.
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

// A Conn is one wait connection. One goroutine uses it at a time; only Close may be called beside
// another method, which it ends.
type Conn interface {
	// Look returns for each name how long it is still held. It blocks at most for the operation
	// limit.
	Look(l Look) ([]time.Duration, error)
	// Block waits for a signal for one of the names, at most for d, and returns its name: "" if the
	// time is up or the connection was woken. It has a limit of its own a little beyond d.
	Block(names []string, d time.Duration) (name string, err error)
	// Probe does what Look and Block do for this name alone, without waiting, and reports whether
	// it read a signal.
	Probe(name string) (signalled bool, err error)
	Close()
}

// A Look is one look of a wait connection at its names.
type Look struct {
	Names []string

	// For the register of who waits. Nil Waiters: the register is left alone.
	Waiters []int    // how many wait for each of Names
	Gone    []string // names of the last look for which nobody waits any more
	Anew    bool     // the register is to be begun anew

	full bool // all names of the connection are looked at
}
