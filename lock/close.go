package lock

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/renewal"
)

// Shutdown refuses new calls, returns [ErrClosed] to waiters, and waits until the functions that Do
// runs have returned or ctx ends; meanwhile their leases are renewed. Then it closes the client as
// [Client.Close] does. It returns ctx.Err() if functions were still running. A function that Do runs
// must not call it with a context that does not end: it would wait for itself.
func (c *Client) Shutdown(ctx context.Context) error {
	if c.missing() {
		return errNoClient
	}
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	c.refuse()
	var err error
	select {
	case <-c.fns.close():
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = c.Close() // always nil
	return err
}

// Close ends everything that the client does: new calls and waiters get [ErrClosed], consumed
// signals are given back, renewing stops, and every lease ends (its error Is [ErrLost] and
// [ErrClosed]). Held locks are released when the margin of their lease has passed, which is the time
// that jobs have to stop, unless Options.KeepOnClose is set. A lease that Do uses is released when
// its function returns; if that takes longer than Close it is left to expire.
//
// A call of Lock that has been granted the lock but has not returned yet gets [ErrClosed], and its lock
// is released. What calls that were given up may have taken is released once more; that Close does not
// come back for what Redis executes later, after a cut of the network. Such a lock is held for its TTL.
//
// It blocks at most for the longest margin of a held lease and one operation limit of 2 s; without
// held leases, one round trip. After it no goroutine and no connection is left, except that a pool's
// Dial which hangs cannot be hurried: its connection is closed when it comes. Close returns nil, also
// when it is called again. It must not be called by a hook, and a function that Do runs should leave
// it to others: Close waits for it.
func (c *Client) Close() error {
	if c.missing() {
		return errNoClient
	}
	c.once.Do(c.close)
	<-c.closed
	return nil
}

// refuse lets no new call in and sends the waiters home. It returns a channel that is closed when
// the calls under way have ended, which they do by themselves: waiters at once, the others with
// their round trip.
func (c *Client) refuse() (calls <-chan struct{}) {
	c.refusing.Do(func() { close(c.closing) })
	c.hub.Stop()
	return c.calls.close()
}

func (c *Client) close() {
	defer close(c.closed)
	began := time.Now()
	calls, fns := c.refuse(), c.fns.close()
	c.store.renewals.Close() // a renewal under way would only be waited for
	terms := c.leases.Close(renewal.ErrClosed)
	end := began.Add(c.margin(terms) + operationLimit)
	// Whatever waits for Redis then, here or in the background, fails at once.
	cut := time.AfterFunc(time.Until(end), c.store.cut)
	defer cut.Stop()

	c.settle(terms, began, end, fns)
	waitUntil(end, calls)
	waitUntil(end, c.releases.close())
	c.janitor.close(end)
	c.hub.Close(time.Until(end))
	c.store.close(time.Until(end))
}

// margin returns the longest margin of the terms.
func (c *Client) margin(terms []*renewal.Term[*hold]) time.Duration {
	var longest time.Duration
	for _, t := range terms {
		if h := t.Data(); !h.handing.withheld() {
			longest = max(longest, h.settings.marginFor(t.TTL()))
		}
	}
	return longest
}

// settle releases the locks of ended leases, each after its margin, and waits until end for the
// functions of Do.
func (c *Client) settle(terms []*renewal.Term[*hold], began, end time.Time, fns <-chan struct{}) {
	var others []endedHold
	inDo := false
	for _, t := range terms {
		h := t.Data()
		switch {
		case h.handing.withheld():
			c.janitor.add(h.ref(false), began, end)
		case h.inDo.Load():
			inDo = true
		case !c.keep:
			others = append(others, endedHold{h, began.Add(h.settings.marginFor(t.TTL())), t.Err()})
		}
	}
	slices.SortFunc(others, func(a, b endedHold) int { return a.release.Compare(b.release) })
	for len(others) > 0 {
		waitUntil(others[0].release, nil)
		n := 1
		for n < min(len(others), batchSize) && time.Until(others[n].release) <= 0 {
			n++
		}
		limit := limitFromNow() // who calls Unlock meanwhile waits for it, and not for the other margins
		if end.Before(limit) {
			limit = end
		}
		c.releaseAll(others[:n], limit)
		others = others[n:]
	}
	if inDo {
		waitUntil(end, fns)
	}
}

// An endedHold is a lease that Close has ended. Its hold may not know its term yet: the acquire that was
// granted at this moment is still to tell it.
type endedHold struct {
	*hold
	release time.Time // when the margin is over
	cause   error
}

// releaseAll releases the locks of leases that Close has ended, except those that the program
// released meanwhile.
func (c *Client) releaseAll(holds []endedHold, deadline time.Time) {
	refs := make([]lockRef, 0, len(holds))
	mine := make([]endedHold, 0, len(holds))
	for _, e := range holds {
		if _, first := e.claim(); first {
			refs, mine = append(refs, e.ref(false)), append(mine, e)
		}
	}
	if len(mine) == 0 {
		return
	}
	found, errs := c.store.releaseAll(context.Background(), deadline, refs)
	for i, e := range mine {
		e.unlocked(e.unlock, e.result(refs[i], answer{ended: e.cause, found: found[i], err: errs[i]}))
	}
}

// waitUntil waits until the time has come or the channel is closed; nil never is.
func waitUntil(t time.Time, done <-chan struct{}) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}
