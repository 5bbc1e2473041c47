package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// Detach ends the lease but leaves what it holds held, for whoever knows the id: lock.Lease.Detach
// says how.
//
// It claims the release, so that a later Release does nothing: the holding is somebody else's
// business then. Of two calls at once only one gets the id. The term ends before the last extend is
// sent, so no renewal can follow that and touch a key which others have adopted.
func (l *Lease) Detach(ctx context.Context) (id string, err error) {
	if l.releases.enter() { // as Release does
		defer l.releases.leave()
	}
	r, first := l.claim()
	if !first {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		return "", fmt.Errorf("lock: detach %q: %w: %w", l.name, ErrNotHeld, cmp.Or(l.Err(), ErrReleased))
	}
	held, gone := l.term.End(ErrDetached), error(nil)
	if held {
		gone, err = l.confirm(ctx)
	} else { // nobody gets the id, and Release does nothing any more
		l.tidy(l.task(false), time.Now(), answer{err: errGone})
	}
	cause := l.Err()
	if gone != nil {
		held, cause = false, gone
		l.stats.countLoss()
		defer tell(l.events.Lost, Lost{l.name, gone})
	}
	l.conclude(r, l.notHeld(cause))
	switch {
	case !held:
		return "", fmt.Errorf("lock: detach %q: %w: %w", l.name, ErrNotHeld, cause)
	case err != nil:
		return l.id, Explain("detach", l.name, err)
	}
	return l.id, nil
}

// Settle waits until an operation limit has passed since the acquire, if that was repeated. It
// returns the context's error if that ends.
//
// The earlier acquire would, after the lock has been adopted and released, take it for nobody. And
// nobody cleans up by an id that was handed on. It is executed later than that only after a cut of
// the network, where Redis refuses to end a connection and the dialer's connections cannot be
// reset: then the lock is held for its TTL.
func (l *Lease) Settle(ctx context.Context) error {
	wait := store.OperationLimit - time.Since(l.since)
	if !l.repeated || wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.term.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// confirm gives the key its full TTL for the last time. gone is why the lease is lost, if the
// answer says that it is not ours any more.
func (l *Lease) confirm(ctx context.Context) (gone, err error) {
	last := to(l.term.TTL())
	if l.settings.NoExpiry {
		last = store.Extension{Do: store.Persist}
	}
	var answer store.Extended
	err = l.twice(ctx, func() (err error) {
		answer, err = l.store.Extend(ctx, l.holding, last)
		return err
	})
	switch {
	case store.WrongType(err):
		return l.lost(Explain("detach", l.name, err)), nil
	case err == nil && !answer.Ours():
		return l.lost(otherOwner(answer.Owner)), nil
	}
	return nil, err
}

// makePermanent takes the TTL from the key of a lease without expiry. If that fails, the renewing
// goroutine goes on trying.
//
// The key was taken with a TTL, so that it expires if the process dies in between. Until Redis
// confirms, the lease goes by that TTL.
func (l *Lease) makePermanent(ctx context.Context) {
	sent := renewal.Now()
	answer, err := l.store.Extend(ctx, l.holding, store.Extension{Do: store.Persist})
	switch {
	case err != nil:
		l.stats.countRetry()
		l.term.Hurry()
	case !answer.Ours():
		l.term.Lose(otherOwner(answer.Owner))
	default:
		_ = l.term.Confirm(sent, l.settings.TTL, l.settings.MarginFor(l.settings.TTL))
	}
}
