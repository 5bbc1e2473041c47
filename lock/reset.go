package lock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Reset gives up the lock of this name, whoever holds it, and wakes one waiter. It returns whether
// the lock was held and by whom, without the ID. A holder that renews its lease is told at its next
// renewal, any other when its lease ends. Until then there can be two.
//
// Reset asks who holds the lock, and takes the lock from that holder. If the lock has changed hands
// meanwhile, Reset does both again, for one operation limit of 2 s at most. Each of the two steps
// blocks as [Client.Owner] does. The error Is:
//   - [ErrHeld] if the lock went on changing hands for that long.
//   - [ErrUnknown] if Redis may have executed the command without telling.
//   - [ErrWrongType], and nothing is changed, if the key is not a lock.
func (c *Client) Reset(ctx context.Context, name string) (was Owner, held bool, err error) {
	began := time.Now()
	for {
		seen, err := c.resetOnce(ctx, name)
		switch {
		case errors.Is(err, store.ErrChanged) && time.Since(began) < store.OperationLimit:
		case errors.Is(err, store.ErrChanged):
			return Owner{}, false, fmt.Errorf("%w: %w", err, ErrHeld)
		case err != nil || seen == nil:
			return Owner{}, false, err
		default:
			return ownerOf(name, seen).anonymous(), true, nil
		}
	}
}

// resetOnce takes the lock from whoever holds it at the moment, and from nobody else. So what is
// executed late takes it from nobody. It returns who that was, nil for nobody.
func (c *Client) resetOnce(ctx context.Context, name string) (seen *store.Held, err error) {
	err = c.call(ctx, "reset", name, func() (err error) {
		seen, err = c.store.Owner(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	doubt := false
	var before *store.Held
	err = c.call(ctx, "reset", name, func() (err error) {
		before, err = c.store.Reset(ctx, name, seen)
		doubt = doubt || store.Sent(err)
		return err
	})
	switch {
	case doubt && (err == nil || errors.Is(err, store.ErrChanged)):
		return seen, nil // by the first of the two, if not by its holder
	case before != nil:
		return before, nil
	case err == nil:
		return nil, nil // it was free by then, if not before
	}
	return seen, err
}

// ResetAll gives up all locks under the client's prefix that the filter matches, and wakes their
// waiters. It returns whom it took them from, without the IDs, also together with an error. After
// an error ResetAll may be called again.
//
// ResetAll looks at every key of the database with SCAN, in batches. It never changes a key that is
// not a lock. Of each lock it resets only the very value that the filter judged. So a lock that
// changes hands meanwhile stays. [Client.List] with the same filter is the dry run.
//
// Each round trip blocks at most for the operation limit of 2 s. All of it ends with ctx, or when
// the client is closed. The error Is:
//   - [ErrClosed] if the client is closed.
//   - [ErrInvalid] if the filter is not usable. Nothing was sent then.
func (c *Client) ResetAll(ctx context.Context, f Filter) ([]Owner, error) {
	if err := c.checkFilter(f); err != nil {
		return nil, err
	}
	if f.empty() {
		return nil, invalid("the filter is empty: say which locks to reset, or set All")
	}
	var reset []Owner
	for owners, err := range c.matches(ctx, f) {
		if err == nil {
			reset, err = c.resetThese(ctx, owners, reset)
		}
		if err != nil {
			return reset, engine.Explain("reset all under", c.store.Prefix, err)
		}
	}
	return reset, nil
}

// checkFilter refuses filters that this client can do nothing with.
func (c *Client) checkFilter(f Filter) error {
	if c.missing() {
		return engine.ErrNoClient
	}
	if f.All && !c.store.Apart() {
		return invalid("the filter has All, and the KeyFormat does not tell locks from other keys:" +
			" use another field, which matches only what holdfast wrote")
	}
	return f.check()
}

// matches returns the locks that the filter matches, in batches, each as it was right before. A
// lock can come twice. An error is the end.
func (c *Client) matches(ctx context.Context, f Filter) iter.Seq2[[]Owner, error] {
	return func(yield func([]Owner, error) bool) {
		for keys, err := range c.pages(ctx, c.store.Locks(f.Name)) {
			if err != nil {
				yield(nil, err)
				return
			}
			for batch := range slices.Chunk(keys, store.BatchSize) {
				owners, err := c.matching(ctx, f, batch)
				if !yield(owners, err) || err != nil {
					return
				}
			}
		}
	}
}

// pages returns the keys of a scan. A key can come twice. An error is the end.
func (c *Client) pages(ctx context.Context, like store.Like) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for cursor := "0"; ; {
			var keys []string
			var next string
			err := c.engine.Step(ctx, func() (err error) {
				keys, next, err = c.store.Scan(ctx, cursor, like)
				return err
			})
			if !yield(keys, err) || err != nil || next == "0" {
				return
			}
			cursor = next
		}
	}
}

// matching returns the owners of those locks, given by their keys, that the filter matches.
func (c *Client) matching(ctx context.Context, f Filter, keys []string) ([]Owner, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = c.store.Name(key)
	}
	var held []*store.Held
	err := c.engine.Step(ctx, func() (err error) {
		held, err = c.store.Owners(ctx, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var matched []Owner
	for i, t := range held {
		if t == nil || t.Foreign { // it became something else since the scan
			continue
		}
		o := ownerOf(names[i], t)
		// Without a beginning of its own any string may be there. With another beginning,
		// holdfast's other keys may be there.
		ours := (c.store.Apart() || o.ours()) && !c.store.Collides(names[i])
		if ours && f.match(o, now) {
			matched = append(matched, o)
		}
	}
	return matched, nil
}

// resetThese releases the locks under the ids that their owners have, and appends those that were
// held under them still.
func (c *Client) resetThese(ctx context.Context, owners, reset []Owner) ([]Owner, error) {
	if len(owners) == 0 {
		return reset, nil
	}
	if err := c.engine.Enter(ctx); err != nil {
		return reset, err
	}
	defer c.engine.Leave()
	releases := make([]store.Run, len(owners))
	for i, o := range owners {
		releases[i] = c.store.Lock(o.Name, o.ID).Release(0)
	}
	found, errs := c.store.ReleaseAll(ctx, store.LimitFromNow(), releases)
	for i, o := range owners {
		if found[i] == store.WasHeld {
			reset = append(reset, o.anonymous())
		}
	}
	return reset, firstOf(errs)
}

// firstOf returns the first error that is one.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
