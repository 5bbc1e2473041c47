package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Seize takes the lock of a name whoever holds it: lock.Mutex.Seize says how. id is the one that
// the user chose, "" for a fresh one. It is a call of its own.
func (e *Engine) Seize(ctx context.Context, name, id string, s Settings) (*Lease, error) {
	if err := e.Enter(ctx); err != nil {
		return nil, err
	}
	defer e.Leave()
	since := time.Now()
	for {
		lease, err := e.takeFrom(ctx, Named{Store: e.store, Lock: name, ID: id}, s, since)
		changed := errors.Is(err, ErrHeld) || errors.Is(err, ErrNotHeld) || errors.Is(err, ErrAlreadyHeld)
		if !changed || errors.Is(err, ErrUnknown) || time.Since(since) > store.OperationLimit {
			return lease, err
		}
	}
}

// takeFrom takes the lock from whoever holds it at the moment, and from nobody else: so that what
// is executed late, after a repeat was granted and released, takes it from nobody.
func (e *Engine) takeFrom(ctx context.Context, n Named, s Settings, since time.Time) (*Lease, error) {
	var held *store.Held
	err := e.twice(ctx, func() (err error) {
		held, err = e.store.Owner(ctx, n.Lock)
		return err
	})
	if err != nil {
		return nil, Explain("acquire", n.Lock, err)
	}
	if held != nil {
		n.From = held.Owner
	}
	return e.tryLock(ctx, Want{Target: &n, Settings: s, Op: "acquire"}, since)
}
