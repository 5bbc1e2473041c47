package lock

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
)

// Extend makes ttl the lease's TTL, counted from now, for later renewals too: 50 ms to 366 days, and
// longer than the lease's margin, else the error Is [ErrInvalid] and nothing was sent; so it is for a
// lease without expiry. MaxHold still counts from the acquire on.
//
// A longer TTL counts when Redis has confirmed it. A shorter one ends the lease that much earlier at
// once, whatever Extend returns; the key itself runs down to it, so after a crash it may stay until
// the old TTL is over.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation
// limits of 2 s and no longer than until ctx ends. Somebody else may have given the key more time than
// the lease ever asked for. That is set right with a command of its own, and Extend to a longer TTL waits
// for it, for one operation limit at most. If that command got no reply, Extend to a longer TTL is refused
// for two minutes with an error that Is [ErrInvalid], since it may yet be executed.
//
// The error Is:
//   - [ErrReleased] after Unlock, [ErrDetached] after Detach;
//   - [ErrLost] if the lease has ended otherwise, with the cause;
//   - [ErrUnknown] if no reply came: then the next renewal brings the new TTL.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	defer runtime.KeepAlive(l)
	h := l.held()
	margin, err := h.checkExtend(ctx, ttl)
	if err != nil {
		return err
	}
	sent := h.term.Retime(ttl, margin)
	answer, err := h.sendExtend(ctx, extendTo, ttl)
	if broken(err) && ctx.Err() == nil {
		h.client.stats.retried()
		first := err
		sent = renewal.Now()
		answer, err = h.sendExtend(ctx, extendTo, ttl)
		err = repeated(first, err)
	}
	if err := h.answered("extend", answer, err); err != nil {
		return err
	}
	_ = h.term.Confirm(sent, ttl, margin) // its error is the term's
	h.setRight(ctx)
	return lost(h.name, h.term.Err())
}

// answered returns the error of a call that asked with an extend. If that says that the lock is not
// ours the lease ends.
func (h *hold) answered(op string, answer extended, err error) error {
	switch {
	case err == nil:
		err = h.learn(answer)
	case redisconn.HasCode(err, "WRONGTYPE"):
		err = explain(op, h.name, err)
	}
	var other *otherOwner
	switch {
	case errors.As(err, &other), errors.Is(err, ErrWrongType):
		h.term.Lose(err)
		return lost(h.name, h.term.Err())
	case err != nil:
		return explain(op, h.name, err)
	}
	return nil
}

func (h *hold) checkExtend(ctx context.Context, ttl time.Duration) (margin time.Duration, err error) {
	if ctx == nil {
		return 0, invalid("the context is nil: pass context.Background()")
	}
	if err := checkTTL(ttl); err != nil {
		return 0, err
	}
	if h.settings.noExpiry {
		return 0, invalid("the lease of %.40q has no expiry: there is nothing to extend", h.name)
	}
	margin = h.settings.marginFor(ttl)
	if err := checkMargin(margin, ttl); err != nil {
		return 0, err
	}
	if err := lost(h.name, h.term.Err()); err != nil {
		return 0, err
	}
	if err := h.cuts.ask(ctx, ttl); err != nil {
		return 0, explain("extend", h.name, err)
	}
	return margin, lost(h.name, h.term.Err()) // it may have ended meanwhile
}

func (h *hold) sendExtend(ctx context.Context, verb extendVerb, ttl time.Duration) (extended, error) {
	return h.client.store.extend(ctx, h.extension(verb, ttl))
}

// extension returns an extend of the key. Only a cut shortens it: see cutter.
func (h *hold) extension(verb extendVerb, ttl time.Duration) extension {
	return extension{name: h.name, id: h.id, fence: h.fence, verb: verb, ttl: ttl}
}

// cut returns what cuts the key, if that is to be done now. Then h.cuts.end must be called.
func (h *hold) cut() (e extension, ok bool) {
	ttl, above, ok := h.cuts.begin()
	e = h.extension(extendCut, ttl)
	e.above = above
	return e, ok
}

// setRight has the key cut if an answer has just shown that it is to be: by the renewals, or if the lease
// has none, here.
func (h *hold) setRight(ctx context.Context) {
	switch {
	case h.settings.noExpiry || !h.cuts.urgent():
	case !h.settings.noRenewal:
		h.term.Hurry()
	default:
		if e, ok := h.cut(); ok {
			answer, err := h.client.store.extend(ctx, e)
			h.cuts.end(err)
			_ = h.answered("extend", answer, err) // a loss is the term's, and the rest comes again
		}
	}
}

// lasting returns how a lock without expiry is checked. Once it is known to have none nothing is written
// any more: a check that is executed late must not take the TTL from a lock that was left to expire
// meanwhile.
func (h *hold) lasting() extendVerb {
	if h.permanent.Load() {
		return extendCheck
	}
	return extendPersist
}

// learn draws from the answer to an extend what it says of the lease. The error is an *otherOwner if
// it is not ours.
func (h *hold) learn(answer extended) error {
	if !answer.ours() {
		return notOwner(h.name, answer.owner)
	}
	h.permanent.Store(answer.pttl < 0)
	first := h.cuts.seen(answer.pttl)
	if answer.state == isBare {
		tell(h.client.hooks.Warning, ttlRemoved(h.name))
	}
	if first {
		tell(h.client.hooks.Warning, ttlChanged(h.name, answer.pttl, h.cuts.most()))
	}
	return nil
}

// notOwner returns the error of a lease that is somebody else's now, or nobody's.
func notOwner(name, value string) error {
	return &otherOwner{owner: parseOwner(name, value, -1).anonymous(), free: value == ""}
}

// extend is what the renewal calls to extend a batch. Leases that the program has dropped are ended
// instead.
func (c *Client) extend(
	batch []renewal.Request[*hold], limit time.Duration, written func(),
) []renewal.Result {
	results := make([]renewal.Result, len(batch))
	sets := make([]scriptArgs, 0, len(batch))
	var sent []carried
	for i, r := range batch {
		h := r.Term.Data()
		if h.dropped.Load() {
			results[i] = renewal.Result{Outcome: renewal.NotOwner, Err: errLeaked}
			continue
		}
		e, cut := h.renewal(r)
		sets, sent = append(sets, c.store.extendArgs(e)), append(sent, carried{at: i, hold: h, isCut: cut})
	}
	if len(sets) == 0 {
		return results
	}
	replies, err := c.store.extendAll(sets, limit, written)
	for n := range sent {
		if sent[n].err = err; err == nil {
			sent[n].take(replies[n])
		}
		if sent[n].isCut {
			sent[n].cuts.end(sent[n].err)
		}
	}
	for _, s := range sent { // now that no cut is under way: hooks are called here, which may wait for it
		results[s.at] = s.outcome()
	}
	return results
}

// A carried is one lease of a batch that is sent, and the answer to its extend.
type carried struct {
	*hold
	at     int  // in the batch
	isCut  bool // its extend is a cut
	answer extended
	err    error
}

func (c *carried) take(reply any) {
	if refused, ok := reply.(error); ok {
		c.err = refused
		return
	}
	c.answer, c.err = parseExtended(reply)
}

// renewal returns the extend with which the lease is renewed: a cut, if one is wanted, which leaves at least
// the TTL that is to be renewed.
func (h *hold) renewal(r renewal.Request[*hold]) (e extension, cut bool) {
	if r.NoExpiry {
		return h.extension(h.lasting(), 0), false
	}
	if e, cut = h.cut(); cut {
		return e, true
	}
	return h.extension(extendTo, r.TTL), false
}

// outcome says what the answer means.
func (c *carried) outcome() renewal.Result {
	switch {
	case refused(c.err) && redisconn.Classify(c.err) == redisconn.NoScript:
		return renewal.Result{Outcome: renewal.Again}
	case refused(c.err) && redisconn.HasCode(c.err, "WRONGTYPE"):
		return renewal.Result{Outcome: renewal.NotOwner, Err: explain("renew", c.name, c.err)}
	case c.err != nil:
		return renewal.Result{Err: c.err}
	}
	if err := c.learn(c.answer); err != nil {
		return renewal.Result{Outcome: renewal.NotOwner, Err: err}
	}
	return renewal.Result{Outcome: renewal.Renewed}
}

func renewed(t *renewal.Term[*hold], until time.Time) {
	h := t.Data()
	h.client.stats.renewed()
	h.setRight(context.Background()) // the term is queued again, so that it can be hurried
	tell(h.client.hooks.Renewed, RenewedInfo{h.name, until})
}

func renewalFailed(t *renewal.Term[*hold], err error) {
	h := t.Data()
	h.client.stats.retried()
	tell(h.client.hooks.RenewalFailed, RenewalFailedInfo{h.name, err, t.Until()})
}
