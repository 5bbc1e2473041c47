package lock

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/renewal"
)

// Shutdown refuses new calls, returns [ErrClosed] to waiters, and waits until the functions that Do
// runs have returned or ctx ends; meanwhile their leases are renewed. Then it closes the client as
// [Client.Close] does. It returns ctx.Err() if functions were still running.
func (c *Client) Shutdown(ctx context.Context) error {
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
// It blocks at most for the longest margin of a held lease and one operation limit of 2 s; without
// held leases, one round trip. After it no goroutine and no connection is left. It returns nil, also
// when it is called again, and must not be called by a hook.
func (c *Client) Close() error {
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
	terms := c.leases.Terms()
	c.leases.Close(renewal.ErrClosed)
	margin := c.settle(terms, began, fns)
	waitUntil(began.Add(margin+operationLimit), calls)
	c.janitor.close()
	c.hub.Close(operationLimit)
	c.waits.hangup()
	c.store.close()
}

// settle releases the locks of ended leases, each after its margin, and waits for the functions of
// Do within theirs. It returns the longest margin.
func (c *Client) settle(terms []*renewal.Term, began time.Time, fns <-chan struct{}) time.Duration {
	var others []*hold
	var longest, ofFns time.Duration
	for _, t := range terms {
		h := t.Data().(*hold)
		margin := h.settings.marginFor(t.TTL())
		longest = max(longest, margin)
		switch {
		case h.inDo.Load():
			ofFns = max(ofFns, margin)
		case !c.keep:
			h.closeAt = began.Add(margin)
			others = append(others, h)
		}
	}
	slices.SortFunc(others, func(a, b *hold) int { return a.closeAt.Compare(b.closeAt) })
	for len(others) > 0 {
		waitUntil(others[0].closeAt, nil)
		n := 1
		for n < min(len(others), batchSize) && time.Until(others[n].closeAt) <= 0 {
			n++
		}
		c.releaseAll(others[:n], began.Add(longest+operationLimit))
		others = others[n:]
	}
	if ofFns > 0 {
		waitUntil(began.Add(ofFns+operationLimit), fns)
	}
	return longest
}

// releaseAll releases the locks of leases that Close has ended, except those that the program
// released meanwhile.
func (c *Client) releaseAll(holds []*hold, deadline time.Time) {
	refs := make([]lockRef, 0, len(holds))
	mine := make([]*hold, 0, len(holds))
	for _, h := range holds {
		if _, first := h.claim(); first {
			refs, mine = append(refs, lockRef{h.name, h.id}), append(mine, h)
		}
	}
	if len(mine) == 0 {
		return
	}
	released, errs := c.store.releaseAll(deadline, refs)
	for i, h := range mine {
		h.unlocked(h.unlock, h.result(false, released[i], false, errs[i]))
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
