package engine

import (
	"context"
	"time"
)

// Lock acquires what is wanted, and waits for it: lock.Mutex.Lock says how. It is a call of its
// own.
func (e *Engine) Lock(ctx context.Context, w Want) (*Lease, error) {
	if err := e.Enter(ctx); err != nil {
		return nil, err
	}
	defer e.Leave()
	return (&wait{attempt: e.attempt(w, time.Now())}).begin(ctx)
}

// TryLock acquires what is wanted if it is free: lock.Mutex.TryLock says how. It is a call of its
// own.
func (e *Engine) TryLock(ctx context.Context, w Want) (*Lease, error) {
	if err := e.Enter(ctx); err != nil {
		return nil, err
	}
	defer e.Leave()
	return e.tryLock(ctx, w, time.Now())
}

// tryLock is TryLock within a call. since is when that began, which hooks are told.
func (e *Engine) tryLock(ctx context.Context, w Want, since time.Time) (*Lease, error) {
	a := e.attempt(w, since)
	return a.twice(ctx)
}
