package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Owner returns who holds the lock of this name, and for how long. The error Is [ErrNotHeld] if
// nobody does. It blocks for one round trip, after a network error for a second one, at most for two
// operation limits of 2 s and no longer than until ctx ends.
func (c *Client) Owner(ctx context.Context, name string) (Owner, error) {
	var held *store.Held
	err := c.call(ctx, "ask for the owner of", name, func() (err error) {
		held, err = c.store.Owner(ctx, name)
		return err
	})
	switch {
	case err != nil:
		return Owner{}, err
	case held == nil:
		return Owner{}, fmt.Errorf("lock %q: %w", name, ErrNotHeld)
	}
	return ownerOf(name, held), nil
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
