package lock

import (
	"context"
	"fmt"
	"runtime"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Detach ends the lease but leaves the lock held, for somebody else to take over. It returns the
// lock's id. With that id [Mutex.Adopt] takes the lock over, or [Client.ReleaseID] releases it, in
// any process.
//
// The lease's context ends, and the lease is not renewed any more. A later Unlock does nothing and
// returns [ErrNotHeld]. From Detach on the key lives for a full TTL, or without expiry for ever. A
// HoldAtLeast is not kept.
//
// Detach blocks for one round trip, and after a network error for a second one. It blocks for that
// at most for two operation limits of 2 s, and no longer than until ctx ends. Before that it waits:
//   - until an operation limit has passed since the acquire, if the acquire had to be repeated.
//   - until a renewal is written or given up, if one is being sent. That takes at most a sixth of
//     the TTL, and at most 2 s.
//
// If ctx ends before anything was done, or is nil, the error says so and the lease goes on. If the
// error Is [ErrNotHeld], the lease had ended before, or the lock turns out to be lost, and there is
// no id. If the lease had ended, the lock is released in the background if it is held still. If the
// lock is lost, Hooks.Lost is told.
//
// After any other error the lease has ended and the id is good, but Redis did not say so. The key
// lives for the rest of its TTL then, or for ever without one.
func (l *Lease) Detach(ctx context.Context) (id string, err error) {
	if ctx == nil {
		return "", invalid("the context is nil: pass context.Background()")
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("lock: detach %q: %w", l.held().Name(), ctx.Err())
	}
	defer runtime.KeepAlive(l)
	h := l.held()
	if err := h.Settle(ctx); err != nil {
		return "", fmt.Errorf("lock: detach %q: %w", h.Name(), err)
	}
	l.cleanup.Stop()
	return h.Detach(ctx)
}

// Adopt takes the lock over from whoever holds it under id. That is a lease that was detached, in
// this process or another one, or a program that follows the same protocol. In one step Redis puts
// a fresh id in the place of id, with the full TTL and a new fencing token. With
// MutexOptions.KeepID the id stays.
//
// A holder that did not detach is told at its next renewal, as with [Client.Reset]. Until then
// there are two. The Unlock of the former holder does not release the lock. With KeepID these facts
// hold only if the lease of that holder has a fencing token. With NoFence nothing tells the two
// leases apart, and the former holder goes on believing that it has the lock.
//
// Whoever has the id can adopt the lock. Of two that try with the same id, the second finds a fresh
// id there and fails. With KeepID both succeed, and the first is told at its next renewal. With
// KeepID the id also goes on to carry the label of the one who took the lock. A clean-up by that
// label ([Filter]) resets the lock, as it does a lock that was detached and not yet adopted.
//
// Adopt blocks as [Mutex.TryLock] does. No lease is held after an error. The error Is:
//   - [ErrNotHeld] if nobody holds the lock.
//   - [ErrHeld], as a [*HeldError], if somebody holds the lock under another id.
//   - [ErrUnknown] if Redis may have executed the command without our learning of it. Then the lock
//     is released in the background, or with KeepID left to expire.
func (m *Mutex) Adopt(ctx context.Context, id string) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	if m.settings.id != "" && !m.settings.keepID {
		return nil, invalid("Adopt puts a fresh id in place, and this mutex has an ID: leave it out, or set" +
			" KeepID")
	}
	n := &engine.Named{Store: m.client.store, Lock: m.name, From: id}
	if m.settings.keepID {
		n.ID = id
	}
	return leaseOf(m.client.engine.TryLock(ctx, engine.Want{Target: n, Settings: m.settings.Settings, Op: "adopt"}))
}

// ReleaseID gives up the lock of this name that is held under id, from wherever, and wakes one
// waiter. If a lease still holds the lock, its holder is told at the next renewal, as with
// [Client.Reset]. The HoldAtLeast of that lease is not kept.
//
// ReleaseID blocks as [Client.Owner] does. The error Is:
//   - [ErrNotHeld] if the lock is not held under id.
//   - [ErrUnknown] if Redis may have executed the command without telling. The lock may be held
//     under id then, or not any more.
func (c *Client) ReleaseID(ctx context.Context, name, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	var found store.Released
	doubt := false
	err := c.call(ctx, "release", name, func() (err error) {
		found, err = c.store.Release(ctx, store.LimitFromNow(), c.store.Lock(name, id).Release(0))
		doubt = doubt || store.Sent(err)
		return err
	})
	switch {
	case err != nil || found == store.WasHeld:
		return err
	case doubt:
		return fmt.Errorf("lock: release %q: it is not held under this id now; who released it was not"+
			" told: %w", name, ErrUnknown)
	}
	return fmt.Errorf("lock: release %q: %w under this id", name, ErrNotHeld)
}
