package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// A Named is the lock of one name, as a [Target]. It is its own and only [Try].
type Named struct {
	Store *store.Store
	Lock  string
	ID    string // that the user chose; "" for a fresh one
	From  string // the id that must hold the lock; "": it must be free
}

// Name returns the lock's name.
func (n *Named) Name() string { return n.Lock }

// Place is the lock's own.
func (n *Named) Place() signal.Name { return signal.Name{Name: n.Lock} }

// Chosen returns the id that the user chose.
func (n *Named) Chosen() string { return n.ID }

// Holder returns who holds the lock.
func (n *Named) Holder(ctx context.Context) (*store.Held, error) { return n.Store.Owner(ctx, n.Lock) }

// Ask sends one acquire.
func (n *Named) Ask(ctx context.Context, a Asker) (*Lease, *store.Held, error) {
	return a.Send(ctx, store.LimitFromNow(), n)
}

// Send sends one acquire.
func (n *Named) Send(ctx context.Context, limit time.Time, o Order) (Got, error) {
	got, err := n.Store.Acquire(ctx, limit, store.Acquisition{
		Name: n.Lock, ID: o.ID, TTL: o.TTL, AtLeast: o.AtLeast, NoFence: o.NoFence, Signal: o.Signal,
		Must: n.From, Chosen: o.Chosen,
	})
	if err != nil || got.Held != nil {
		return Got{Held: got.Held}, err
	}
	return Got{Name: n.Lock, Holding: got.Lock, Fence: got.Lock.Fence, Sent: got.Sent}, nil
}

// MayHold returns the lock under the id.
func (n *Named) MayHold(o Order) store.Holding { return n.Store.Lock(n.Lock, o.ID).SignalFor(o.Signal) }
