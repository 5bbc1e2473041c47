package store

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast/signal"
)

// A Kind is one kind of thing that is waited for, beside locks: signal.Name.Kind says which. Its
// methods are called from several goroutines.
type Kind interface {
	// Signal returns the key of the list where signals for a name are.
	Signal(name string) string
	// Heard takes in what a signal for the name said: "1" says nothing in particular.
	Heard(name, said string)
	// Look returns for each name how long it is still held. It blocks at most for an operation
	// limit.
	Look(ctx context.Context, names []string) ([]signal.Left, error)
	// GiveBack puts a signal for the name back that was read and not used.
	GiveBack(ctx context.Context, name string) error
}

// kinds are those that are known. The zero value has none.
type kinds struct {
	mu    sync.Mutex // guards the field below
	known map[string]Kind
}

// add makes a kind known under a name, if there is none yet. A kind knows who waits, which another
// one under the same name would not: the first stays.
func (k *kinds) add(name string, kind Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[string]Kind)
	}
	if k.known[name] == nil {
		k.known[name] = kind
	}
}

// get returns a kind by its name: nil for locks. These are looked for most, and take no mutex.
func (k *kinds) get(name string) Kind {
	if name == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[name]
}
