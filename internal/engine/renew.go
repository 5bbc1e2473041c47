package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// renew is what the renewal calls to extend a batch. Leases that the program has dropped are ended
// instead.
//
// It runs on the one renewing goroutine, so what blocks here holds up every lease. All cuts of the
// batch are ended before any outcome is looked at. Outcomes call hooks, a hook may call Extend, and
// that waits for a cut of the same batch.
func (c *core) renew(batch []renewal.Request[*Lease], limit time.Duration, written func()) []renewal.Result {
	results := make([]renewal.Result, len(batch))
	runs := make([]store.Run, 0, len(batch))
	var sent []carried
	for i, r := range batch {
		l := r.Term.Data()
		if l.dropped.Load() {
			results[i] = renewal.Result{Outcome: renewal.NotOwner, Err: errLeaked}
			continue
		}
		e, cut := l.renewal(r)
		runs, sent = append(runs, l.holding.Extend(e)), append(sent, carried{at: i, Lease: l, isCut: cut})
	}
	if len(runs) == 0 {
		return results
	}
	answers, errs := c.store.Renew(runs, limit, written)
	for n := range sent {
		sent[n].answer, sent[n].err = answers[n], errs[n]
		if sent[n].isCut {
			sent[n].cuts.end(sent[n].err)
		}
	}
	for _, s := range sent { // hooks are called here, which may wait for a cut that is under way
		results[s.at] = s.outcome()
	}
	return results
}

// A carried is one lease of a batch that is sent, and the answer to its extend.
type carried struct {
	*Lease
	at     int  // in the batch
	isCut  bool // its extend is a cut
	answer store.Extended
	err    error
}

// renewal returns the extend with which the lease is renewed: a cut, if one is wanted, which leaves
// at least the TTL that is to be renewed.
func (l *Lease) renewal(r renewal.Request[*Lease]) (e store.Extension, cut bool) {
	if r.NoExpiry {
		return l.lasting(), false
	}
	if e, cut = l.cut(); cut {
		return e, true
	}
	return to(r.TTL), false
}

// lasting is how a lease without expiry is checked. Once it is known to have none nothing is
// written any more: a check that is executed late must not take the TTL from what was left to
// expire meanwhile.
func (l *Lease) lasting() store.Extension {
	if l.permanent.Load() {
		return store.Extension{Do: store.Check}
	}
	return store.Extension{Do: store.Persist}
}

// outcome says what the answer means.
func (c *carried) outcome() renewal.Result {
	switch {
	case store.NoScript(c.err):
		return renewal.Result{Outcome: renewal.Again}
	case store.WrongType(c.err):
		return renewal.Result{Outcome: renewal.NotOwner, Err: Explain("renew", c.name, c.err)}
	case c.err != nil:
		return renewal.Result{Err: c.err}
	}
	if err := c.learn(c.answer); err != nil {
		return renewal.Result{Outcome: renewal.NotOwner, Err: err}
	}
	return renewal.Result{Outcome: renewal.Renewed}
}

// renewed is what the renewal calls after a renewal was confirmed, on the renewing goroutine. The
// lease may have ended meanwhile.
func renewed(t *renewal.Term[*Lease], until time.Time) {
	l := t.Data()
	l.stats.countRenewal()
	l.setRight(context.Background(), t) // t is queued again, so that it can be hurried
	tell(l.events.Renewed, Renewed{l.name, until})
}

// renewalFailed is what the renewal calls after one failed that will be repeated.
func renewalFailed(t *renewal.Term[*Lease], err error) {
	l := t.Data()
	l.stats.countRetry()
	tell(l.events.RenewalFailed, RenewalFailed{l.name, err, t.Until()})
}
