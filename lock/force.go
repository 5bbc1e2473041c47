package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// Seize takes the lock whoever holds it. The one who did is told at its next renewal, as with
// [Client.Reset], and until then there are two: the fencing token orders them, since ours is greater.
// Its Unlock does not release the lock. Nobody's signal is used up and none is given: waiters go on
// waiting.
//
// It asks who holds the lock, and takes it from that one; if it has changed hands meanwhile, again, for
// one operation limit of 2 s at most, after which the error is a [*HeldError]. Each of the two steps
// blocks as [Mutex.TryLock] does. The error Is [ErrUnknown] if Redis may have done it without our learning
// of it: that is cleaned up in the background, and then nobody holds the lock; under an id that
// MutexOptions.ID gives it is left to expire. No lease is held after an error. A value of more than 1 KiB, which no lock has, must be reset before.
func (m *Mutex) Seize(ctx context.Context) (*Lease, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.client.calls.leave()
	since := time.Now()
	for {
		lease, err := m.takeFrom(ctx, since)
		changed := errors.Is(err, ErrHeld) || errors.Is(err, ErrNotHeld) || errors.Is(err, ErrAlreadyHeld)
		if !changed || errors.Is(err, ErrUnknown) || time.Since(since) > operationLimit {
			return lease, err
		}
	}
}

// takeFrom takes the lock from whoever holds it at the moment, and from nobody else: so that what is
// executed late, after a repeat was granted and released, takes it from nobody.
func (m *Mutex) takeFrom(ctx context.Context, since time.Time) (*Lease, error) {
	var held *taken
	err := m.client.twice(ctx, func() (err error) {
		held, err = m.client.store.owner(ctx, m.name)
		return err
	})
	if err != nil {
		return nil, explain("acquire", m.name, err)
	}
	a := &attempt{mutex: m, since: since}
	if held != nil {
		a.from, a.force = held.owner, true
	}
	return a.twice(ctx)
}

// Block keeps everybody from the lock of this name for d, 50 ms to 366 days, without holding it: there is
// no lease, nothing is renewed, and the process may end. [Client.Owner] tells who blocked it, with Kept
// set, and no clean-up by label, host or age ends it; [Client.Reset] does.
//
// Block again by the same Client has the lock blocked for d from now on, which may be longer or shorter.
// When the time is over the client gives a signal, if it lives still, so that waiters of python-redis-lock
// without expire wake as well. All other waiters find the end by themselves.
//
// It blocks as [Mutex.TryLock] does, for two round trips if the lock is blocked already, and before that for
// other calls of it about the same name. The error Is
//   - [ErrHeld], a [*HeldError], if somebody holds the lock, or another client blocks it.
//   - [ErrUnknown] if Redis may have done it without telling. A new block is undone in the background, as
//     with [Mutex.TryLock]; one that was to be changed ends as it did before, or as it should now.
//   - [ErrWrongType] or [ErrInvalid], and nothing is changed.
func (c *Client) Block(ctx context.Context, name string, d time.Duration) error {
	if err := c.checkName(name); err != nil {
		return err
	}
	if d < minTTL || d > maxTTL {
		return invalid("the duration %v is out of range: give %v to %s", d, minTTL, maxTTLText)
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.calls.leave()
	if err := c.blocking.enter(ctx, name); err != nil {
		return explain("block", name, err)
	}
	defer c.blocking.leave(name)
	id, err := newID(c.settings.label)
	if err != nil {
		return err
	}
	a := acquisition{name: name, id: id + owner.KeptSuffix, ttl: d, noFence: true}
	for began := time.Now(); ; {
		held, repeated, err := c.blockOnce(ctx, a)
		ref := lockRef{name: name, id: id, keep: time.Now().Add(d)}
		switch {
		case err == nil && held == nil:
			c.janitor.forgetBlocks(name)
			c.janitor.blockEnds(ref)
			if repeated && a.must == "" {
				limit, cancel := context.WithDeadline(ctx, began.Add(2*operationLimit))
				defer cancel()
				c.renameBlock(limit, a)
			}
			return nil
		case errors.Is(err, ErrUnknown) && a.must != "":
			c.janitor.blockEnds(ref) // or at the end that it had before, which is not forgotten
			return err
		case errors.Is(err, errNobody) && time.Since(began) < operationLimit:
			a.must = "" // it has ended meanwhile
		case err != nil:
			return err
		case !c.janitor.blocks(name, held.owner) || time.Since(began) > operationLimit:
			return c.Mutex(name).heldError(held)
		default:
			a.must = held.owner
		}
	}
}

// renameBlock gives a block another id whose first attempt was in doubt and may be executed late: after
// a Reset it would block the lock once more. Under an id that the block does not have any more it is undone.
// If Redis does not answer, the block stays as it is.
func (c *Client) renameBlock(ctx context.Context, a acquisition) {
	id, err := newID(c.settings.label)
	if err != nil {
		return
	}
	was := a.id
	a.must, a.id = was, id+owner.KeptSuffix
	_, held, _, err := c.store.acquire(ctx, a)
	if err == nil && held == nil || sent(err) {
		c.janitor.blockEnds(lockRef{name: a.name, id: id, keep: time.Now().Add(a.ttl)})
	}
	if err == nil && held == nil {
		now := time.Now()
		ref := lockRef{name: a.name, id: was}
		c.janitor.release(ref, now.Add(operationLimit), now.Add(a.ttl+operationLimit), now)
	}
}

// blockOnce blocks a lock that is free, or held as a says. It returns who holds it, nil if it is blocked,
// and whether an earlier attempt is in doubt.
func (c *Client) blockOnce(ctx context.Context, a acquisition) (held *taken, doubt bool, err error) {
	err = c.call(ctx, "block", a.name, func() (err error) {
		_, held, _, err = c.store.acquire(ctx, a)
		doubt = doubt || sent(err)
		return err
	})
	if !doubt || err == nil && held == nil {
		return held, doubt, err
	}
	if a.must == "" {
		now := time.Now()
		c.janitor.release(lockRef{name: a.name, id: a.id}, now, now.Add(a.ttl+operationLimit), now)
	}
	if err == nil {
		err = c.Mutex(a.name).heldError(held)
	}
	if !errors.Is(err, ErrUnknown) {
		err = errors.Join(err, ErrUnknown)
	}
	return nil, doubt, err
}

// A Status says how a lock stands.
type Status int

const (
	// StatusFree: nobody holds it.
	StatusFree Status = iota
	// StatusLocked: it is held, and will be free before long if its holder does nothing more.
	StatusLocked
	// StatusUnavailable: it is held for longer than was asked about, even if its holder does nothing
	// more.
	StatusUnavailable
	// StatusStuck: it is held without expiry. If that was not meant, somebody has to reset it.
	StatusStuck
)

// String names the status in lower case.
func (s Status) String() string {
	switch s {
	case StatusFree:
		return "free"
	case StatusLocked:
		return "locked"
	case StatusUnavailable:
		return "unavailable"
	case StatusStuck:
		return "stuck"
	}
	return fmt.Sprintf("status %d", int(s))
}

// Status tells how the lock of this name stands: free, locked, unavailable for longer than soon, which
// must not be negative, or stuck. What counts is how long the key has left: a holder that renews it can
// hold it for longer. It blocks as [Client.Owner] does.
func (c *Client) Status(ctx context.Context, name string, soon time.Duration) (Status, error) {
	if soon < 0 {
		return 0, invalid("the duration %v is negative: give how long a lock may be held and still count as"+
			" locked", soon)
	}
	o, err := c.Owner(ctx, name)
	switch {
	case errors.Is(err, ErrNotHeld):
		return StatusFree, nil
	case err != nil:
		return 0, err
	case o.TTL == NoExpiry:
		return StatusStuck, nil
	case o.TTL > soon:
		return StatusUnavailable, nil
	}
	return StatusLocked, nil
}

// Locked reports whether somebody holds the lock of this name. It blocks as [Client.Owner] does. Use it
// to look, not to decide: when it returns, the lock may have changed hands.
func (c *Client) Locked(ctx context.Context, name string) (bool, error) {
	_, err := c.Owner(ctx, name)
	if errors.Is(err, ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}
