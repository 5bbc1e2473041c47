package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Owner returns who holds the lock of this name, and for how long. The error Is [ErrNotHeld] if
// nobody does. A holder that renews the lock can hold it for longer than Owner.TTL. One whose TTL
// is [NoExpiry] can hold it until somebody resets it.
//
// Owner blocks for one round trip, and after a network error for a second one. It blocks at most
// for two operation limits of 2 s, and no longer than until ctx ends.
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

// Locked reports whether somebody holds the lock of this name. It blocks as [Client.Owner] does.
// Use it to look, not to decide: when Locked returns, the lock may have changed hands.
func (c *Client) Locked(ctx context.Context, name string) (bool, error) {
	_, err := c.Owner(ctx, name)
	if errors.Is(err, ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}
