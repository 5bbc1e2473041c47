package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// Extend makes ttl the lease's TTL: lock.Lease.Extend says how, and has checked ttl.
//
// Retime comes before anything is sent. A shorter TTL counts from there on, whatever becomes of the
// extend. A longer one counts only when Confirm says so, from the time at which the answered extend
// was sent. Renewals that run beside it ask for the new TTL already, and neither shortens the key.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := l.mayAsk(ctx, ttl); err != nil {
		return err
	}
	margin := l.settings.MarginFor(ttl)
	sent := l.term.Retime(ttl, margin)
	answer, err := l.prolong(ctx, ttl)
	if store.Broken(err) && ctx.Err() == nil {
		l.stats.countRetry()
		first := err
		sent = renewal.Now()
		answer, err = l.prolong(ctx, ttl)
		err = store.Repeated(first, err)
	}
	if err := l.answered("extend", answer, err); err != nil {
		return err
	}
	_ = l.term.Confirm(sent, ttl, margin) // its error is the term's
	l.setRight(ctx, l.term)
	return l.Err()
}

// mayAsk returns why the lease may not ask for a TTL now: it has ended, or a cut is in doubt. It
// may block, see cutter.ask.
func (l *Lease) mayAsk(ctx context.Context, ttl time.Duration) error {
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.cuts.ask(ctx, ttl); err != nil {
		return Explain("extend", l.name, err)
	}
	return l.Err() // it may have ended meanwhile
}

// ExtendBy adds d to what the key has left: lock.Lease.ExtendBy says how, and has checked d.
func (l *Lease) ExtendBy(ctx context.Context, d time.Duration) (left time.Duration, err error) {
	ttl := l.term.TTL()
	if err := l.mayAsk(ctx, ttl); err != nil {
		return 0, err
	}
	if err := l.cuts.add(ctx, d); err != nil {
		return 0, Explain("extend", l.name, err)
	}
	at := renewal.Now()
	answer, err := l.store.Extend(ctx, l.holding, store.Extension{Do: store.AddTime, TTL: d})
	if err := l.answered("extend", answer, err); err != nil {
		l.cuts.notAdded(d, store.Sent(err))
		return 0, err
	}
	left = l.cuts.added(d, answer.TTL)
	margin := l.settings.MarginFor(left)
	if left > ttl {
		l.term.Retime(left, margin)
	} else {
		// Somebody may have shortened what the key had. Then the lease ends with it, unless it is
		// renewed.
		l.term.Shorten(at, left, min(margin, left))
	}
	_ = l.term.Confirm(at, left, min(margin, left)) // its error is the term's
	l.setRight(ctx, l.term)
	return left, l.Err()
}

// Verify asks Redis whether the lease still holds: lock.Lease.Verify says how.
func (l *Lease) Verify(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	var answer store.Extended
	err := l.twice(ctx, func() (err error) {
		answer, err = l.store.Extend(ctx, l.holding, store.Extension{Do: store.Check})
		return err
	})
	if err := l.answered("check", answer, err); err != nil {
		return err
	}
	l.setRight(ctx, l.term)
	return l.Err()
}

// prolong asks for a TTL.
func (l *Lease) prolong(ctx context.Context, ttl time.Duration) (store.Extended, error) {
	return l.store.Extend(ctx, l.holding, to(ttl))
}

// to is what brings a key to a TTL. It never shortens it: see cutter.
func to(ttl time.Duration) store.Extension { return store.Extension{Do: store.Prolong, TTL: ttl} }

// answered returns the error of a call that asked with an extend. If that says that the holding is
// not ours the lease ends. The error is then the lease's own: somebody else may have ended it
// first.
func (l *Lease) answered(op string, answer store.Extended, err error) error {
	switch {
	case err == nil:
		err = l.learn(answer)
	case store.WrongType(err):
		err = Explain(op, l.name, err)
	}
	var other *OtherOwner
	switch {
	case errors.As(err, &other), errors.Is(err, ErrWrongType):
		l.term.Lose(err)
		return l.Err()
	case err != nil:
		return Explain(op, l.name, err)
	}
	return nil
}

// learn draws from the answer to an extend what it says of the lease. The error is an *OtherOwner
// if it is not ours. Answers to two extends may be learned from in either order. What an old one
// says of the TTL does no harm: the next answer sets it right, and a cut leaves alone what it does
// not exceed.
func (l *Lease) learn(answer store.Extended) error {
	if !answer.Ours() {
		return otherOwner(answer.Owner)
	}
	l.permanent.Store(answer.TTL == store.NoExpiry)
	first := l.cuts.seen(answer.TTL)
	if answer.Standing == store.Bare {
		tell(l.events.StrangeTTL, StrangeTTL{Name: l.name, Removed: true})
	}
	if first {
		tell(l.events.StrangeTTL, StrangeTTL{Name: l.name, TTL: answer.TTL, Longest: l.cuts.most()})
	}
	return nil
}

// cut returns what cuts the key, if that is to be done now. Then l.cuts.end must be called.
func (l *Lease) cut() (e store.Extension, ok bool) {
	ttl, above, ok := l.cuts.begin()
	return store.Extension{Do: store.Cut, TTL: ttl, Above: above}, ok
}

// setRight has the key cut if an answer has just shown that it is to be: by the renewals, or if the
// lease has none, here. t is the lease's term, which a renewal may know before the lease does.
func (l *Lease) setRight(ctx context.Context, t *renewal.Term[*Lease]) {
	switch {
	case l.settings.NoExpiry || !l.cuts.urgent():
	case !l.settings.NoRenewal:
		t.Hurry()
	default:
		if e, ok := l.cut(); ok {
			answer, err := l.store.Extend(ctx, l.holding, e)
			l.cuts.end(err)
			_ = l.answered("extend", answer, err) // a loss is the term's, and the rest comes again
		}
	}
}
