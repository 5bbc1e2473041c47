package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// A Target is something that can be acquired. One belongs to one call of [Engine.Lock] or
// [Engine.TryLock], on whose goroutine its methods are called.
//
// To add a kind of thing takes a Target, a [Try], a store.Holding for what is held, and, if it is
// waited for elsewhere than a lock is, a store.Kind. Nothing in this package knows which kinds
// there are.
type Target interface {
	// Name is what errors and hooks call it.
	Name() string
	// Place is where one waits for it.
	Place() signal.Name
	// Ask asks Redis for it, with one or several tries by the Asker. The first lease or error of
	// theirs is its own. Without both it returns who holds the target. All of it must end within
	// one operation limit.
	Ask(ctx context.Context, a Asker) (*Lease, *store.Held, error)
}

// A Chooser is a [Target] that may be acquired under an id which the user chose, instead of a fresh
// one.
type Chooser interface {
	Target
	// Chosen returns that id, "" for none. An acquire under it is neither repeated nor cleaned up
	// when its outcome is unknown: somebody else may hold the target under it.
	Chosen() string
	// Holder returns who holds the target, nil for nobody. It is asked before the call stands in
	// line, to find out that the target is held under this very id.
	Holder(ctx context.Context) (*store.Held, error)
}

// An Asker sends tries for a [Target]. It knows the id, repeats what is in doubt under the same
// one, and makes the lease of what was granted.
type Asker interface {
	// Send sends one try. It blocks until the limit at most. Without a lease and an error it
	// returns who holds the target.
	Send(ctx context.Context, limit time.Time, t Try) (*Lease, *store.Held, error)
	// InDoubt returns the try whose outcome is not known, nil for none. The next try is sent under
	// its id: it should ask for the same things.
	InDoubt() Try
	// Abandon has what is in doubt cleaned up. The next try is sent under a fresh id.
	Abandon()
}

// A Try is one command that may acquire a target.
type Try interface {
	// Send sends it, once. It blocks until the limit at most.
	Send(ctx context.Context, limit time.Time, o Order) (Got, error)
	// MayHold returns what is held under the id if it is held at all: what is to be cleaned up when
	// the outcome is not known.
	MayHold(o Order) store.Holding
}

// An Order says how a try is to acquire.
type Order struct {
	*Settings
	ID     string
	Chosen bool // by the user: finding it there is no success
	Repeat bool // an earlier try under this id may have been executed
}

// Got is what came of a try.
type Got struct {
	Name    string        // of what is held now
	Holding store.Holding // what is held now; nil: nothing
	Fence   int64         // its fencing token, 0 for none
	Held    *store.Held   // who holds it else
	Sent    time.Time     // before the try was sent
	// Rest is what else an earlier try under the same id may take, if it is executed late; nil for
	// nothing.
	Rest store.Holding
}
