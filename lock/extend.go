package lock

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
)

// Extend makes ttl the lease's TTL, counted from now, for later renewals too: 50 ms to 24 h, and
// longer than the lease's margin, else the error Is [ErrInvalid] and nothing was sent; so it is for a
// lease without expiry. MaxHold still counts from the acquire on.
//
// A longer TTL counts when Redis has confirmed it. A shorter one ends the lease that much earlier at
// once, whatever Extend returns; the key itself runs down to it, so after a crash it may stay until
// the old TTL is over.
//
// It blocks for one round trip, after a network error for a second one, at most for two operation
// limits of 2 s and no longer than until ctx ends. The error Is [ErrReleased] after Unlock,
// [ErrDetached] after Detach, [ErrLost] if the lease has ended otherwise, with the cause, and
// [ErrUnknown] if no reply came: then the next renewal brings the new TTL.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	defer runtime.KeepAlive(l)
	h := l.hold
	margin, err := h.checkExtend(ctx, ttl)
	if err != nil {
		return err
	}
	sent := h.term.Retime(ttl, margin)
	answer, err := h.sendExtend(ctx, ttl)
	if broken(err) && ctx.Err() == nil {
		h.client.stats.retried()
		sent = renewal.Now()
		answer, err = h.sendExtend(ctx, ttl)
	}
	if err := h.answered("extend", answer, err); err != nil {
		return err
	}
	_ = h.term.Confirm(sent, ttl, margin) // its error is the term's
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
	return margin, h.lengthen(ttl)
}

// lengthen takes note of the longest TTL that the lease asks for. It is refused if an extend under way
// might cut it: who is about to send one looks at the longest after cutAbove was set, and here that is
// looked at after the longest was set, so one of the two sees the other.
func (h *hold) lengthen(ttl time.Duration) error {
	for old := h.longest.Load(); int64(ttl) > old; old = h.longest.Load() {
		if h.longest.CompareAndSwap(old, int64(ttl)) {
			break
		}
	}
	if above := h.cutAbove.Load(); above != 0 && millis(ttl) >= above {
		return invalid("the TTL %v is too long for a lock whose TTL somebody else, or the server's"+
			" clock, has changed: give less than %v", ttl, time.Duration(above)*time.Millisecond)
	}
	return nil
}

func (h *hold) sendExtend(ctx context.Context, ttl time.Duration) (extended, error) {
	return h.client.store.extend(ctx, h.extension(ttl))
}

func (h *hold) extension(ttl time.Duration) extension {
	return extension{name: h.name, id: h.id, fence: h.fence, ttl: ttl, longest: h.mayStay()}
}

// mayStay returns the longest PTTL, in milliseconds, that an extend is to leave alone.
func (h *hold) mayStay() int64 {
	above := h.cutAbove.Load()
	if h.strange.Load() && above > h.longestMillis() {
		return above
	}
	return anyPTTL
}

// lasting returns the TTL with which a lock without expiry is checked. Once it is known to have none
// nothing is written any more: a check that is executed late must not take the TTL from a lock that was
// left to expire meanwhile.
func (h *hold) lasting() time.Duration {
	if h.permanent.Load() {
		return 0
	}
	return NoExpiry
}

func (h *hold) longestMillis() int64 { return millis(time.Duration(h.longest.Load())) }

// learn draws from the answer to an extend what it says of the lease. The error is an *otherOwner if
// it is not ours.
func (h *hold) learn(answer extended) error {
	if !answer.ours {
		return notOwner(h.name, answer.owner)
	}
	h.permanent.Store(answer.pttl < 0)
	// A key that outlives everything we asked for was changed by somebody, or the server's clock was
	// set back: after a crash it would block the lock for as long.
	longest := h.longestMillis()
	strange := answer.pttl > longest+1000
	first := false // it has never been strange before
	if strange {
		first = h.cutAbove.Swap(max(answer.pttl-10_000, longest+1000)) == 0
	}
	h.strange.Store(strange)
	if answer.bare {
		tell(h.client.hooks.Warning, ttlRemoved(h.name))
	}
	if first {
		tell(h.client.hooks.Warning, ttlChanged(h.name, answer.pttl, longest))
	}
	return nil
}

// notOwner returns the error of a lease that is somebody else's now, or nobody's.
func notOwner(name, value string) error {
	return &otherOwner{owner: parseOwner(name, value, -1).anonymous(), free: value == ""}
}

// extend is what the renewal calls to extend a batch. Leases that the program has dropped are ended
// instead.
func (c *Client) extend(batch []renewal.Request, limit time.Duration, written func()) []renewal.Result {
	results := make([]renewal.Result, len(batch))
	sets := make([]scriptArgs, 0, len(batch))
	var sent []int
	for i, r := range batch {
		h := r.Term.Data().(*hold)
		if h.dropped.Load() {
			results[i] = renewal.Result{Outcome: renewal.NotOwner, Err: errLeaked}
			continue
		}
		ttl := r.TTL
		if r.NoExpiry {
			ttl = h.lasting()
		}
		sets, sent = append(sets, c.store.extendArgs(h.extension(ttl))), append(sent, i)
	}
	if len(sets) == 0 {
		return results
	}
	replies, err := c.store.extendAll(sets, limit, written)
	for n, i := range sent {
		if err != nil {
			results[i].Err = err
			continue
		}
		results[i] = batch[i].Term.Data().(*hold).renewalResult(replies[n])
	}
	return results
}

// renewalResult says what a reply to a renewal means.
func (h *hold) renewalResult(reply any) renewal.Result {
	if err, ok := reply.(redis.Error); ok {
		if redisconn.Classify(err) == redisconn.NoScript {
			return renewal.Result{Outcome: renewal.Again}
		}
		if redisconn.HasCode(err, "WRONGTYPE") {
			err := explain("renew", h.name, err)
			return renewal.Result{Outcome: renewal.NotOwner, Err: err}
		}
		return renewal.Result{Err: err}
	}
	answer, err := parseExtended(reply)
	if err != nil {
		return renewal.Result{Err: err}
	}
	if err := h.learn(answer); err != nil {
		return renewal.Result{Outcome: renewal.NotOwner, Err: err}
	}
	return renewal.Result{Outcome: renewal.Renewed}
}

func renewed(t *renewal.Term, until time.Time) {
	h := t.Data().(*hold)
	h.client.stats.renewed()
	tell(h.client.hooks.Renewed, RenewedInfo{h.name, until})
}

func renewalFailed(t *renewal.Term, err error) {
	h := t.Data().(*hold)
	h.client.stats.retried()
	tell(h.client.hooks.RenewalFailed, RenewalFailedInfo{h.name, err, t.Until()})
}
