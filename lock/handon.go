package lock

import (
	"context"
	"fmt"
	"runtime"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Detach ends the lease but leaves the lock held, for somebody else to take over: it returns the id
// with which [Mutex.Adopt] does that, or [Client.ReleaseID] releases the lock, in any process. The
// lease's context ends, it is not renewed any more, and a later Unlock does nothing and returns
// [ErrNotHeld]. From Detach on the key lives for a full TTL; without expiry, for ever. A HoldAtLeast is
// not kept.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation
// limits of 2 s and no longer than until ctx ends; before that, if the acquire had to be repeated, until
// an operation limit has passed since, and if a renewal is being sent, until that is written or given up:
// for a sixth of the TTL, and for the 2 s, at most. If ctx ends before anything was done, or is nil, the error says
// so and the lease goes on. If the error Is [ErrNotHeld] the lease had ended before, and the lock is
// released in the background if it is held still, or the lock turns out to be lost, which Hooks.Lost is
// told; there is no id. After any other error the lease has ended and the
// id is good, but Redis did not say so: the key lives for the rest of its TTL, or for ever without one.
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

// Adopt takes the lock over from whoever holds it under id: from a lease that was detached, in this
// process or another one, or from a program that follows the same protocol. In one step Redis puts a
// fresh id in its place (with MutexOptions.KeepID it stays), with the full TTL and a new fencing token.
//
// A holder that did not detach is told at its next renewal, as with [Client.Reset], and until then there
// are two. Its Unlock does not release the lock. With KeepID both hold only if its lease has a fencing
// token: with NoFence nothing tells the two apart, and it goes on believing.
//
// Whoever has the id can adopt the lock: of two that try with the same one, the second finds a fresh id
// there and fails, but with KeepID both succeed, and the first is told at its next renewal. With KeepID
// the id also goes on to carry the label of the one who took the lock: a clean-up by that label
// ([Filter]) resets it, as it does a lock that was detached and not yet adopted.
//
// It blocks as [Mutex.TryLock] does. If nobody holds the lock the error Is [ErrNotHeld], if somebody
// holds it under another id it is a [*HeldError]. It Is [ErrUnknown] if Redis may have done it without
// our learning of it: then the lock is released in the background, with KeepID left to expire. No lease
// is held after an error.
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
	n := &engine.Name{Store: m.client.store, Lock: m.name, From: id}
	if m.settings.keepID {
		n.ID = id
	}
	return leaseOf(m.client.engine.TryLock(ctx, engine.Want{Target: n, Settings: m.settings.Settings, Op: "adopt"}))
}

// ReleaseID gives the lock of this name up that is held under id, from wherever, and wakes one waiter.
// The error Is [ErrNotHeld] if it is not held under it. If a lease still holds it, that one is told at
// its next renewal, as with [Client.Reset], and its HoldAtLeast is not kept.
//
// It blocks as [Client.Owner] does. The error Is [ErrUnknown] if Redis may have done it without telling;
// the lock may be held under the id then, or not any more.
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
