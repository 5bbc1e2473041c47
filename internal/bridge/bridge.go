// Package bridge lets the packages beside lock, such as pool and register, use the engine of a
// lock.Client. It is a package of its own because lock must not know them, and users must not see
// it.
//
// lock embeds a [Seam] in its Client, and whoever has a *lock.Client gets what is behind it by
// [Of]. lock exports nothing of it, and the compiler knows all types.
package bridge

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A View is a lock.Client as the packages beside lock see it. L is *lock.Lease, O is
// *lock.MutexOptions, and W is lock.Owner. Its functions may be called from any goroutine.
type View[L, O, W any] struct {
	Engine *engine.Engine

	// CheckName returns an error that Is lock.ErrInvalid if no lock could have the name.
	CheckName func(name string) error
	// Settings returns what an acquisition with these options goes by. Nil options are the
	// client's.
	Settings func(O) (engine.Settings, error)
	// Lease returns what the program gets of a lease. It is called once for each lease.
	Lease func(*engine.Lease) L
	// Do runs fn while it holds what take takes, as lock.Mutex.Do does.
	Do func(
		ctx context.Context, take func(context.Context) (L, error), fn func(context.Context, L) error,
	) error
	// Owner says who holds the lock of a name, without the id.
	Owner func(name string, held *store.Held) W
}

// A Seam is what a lock.Client embeds.
type Seam[L, O, W any] struct{ view *View[L, O, W] }

// Join returns the seam before a view.
func Join[L, O, W any](v *View[L, O, W]) Seam[L, O, W] { return Seam[L, O, W]{v} }

func (s *Seam[L, O, W]) bridged() *View[L, O, W] { return s.view }

// Of returns the view of a client. It panics if there is no client: if that is nil, or was not made
// by lock.
func Of[C, L, O, W any, P interface {
	*C
	bridged() *View[L, O, W]
}](client P) *View[L, O, W] {
	if client == nil || client.bridged() == nil {
		panic(engine.ErrNoClient)
	}
	return client.bridged()
}
