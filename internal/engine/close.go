package engine

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// Shutdown refuses new calls and waits for the functions that Do runs, then closes the engine:
// lock.Client.Shutdown says how.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.refuse()
	var err error
	select {
	case <-e.fns.close():
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return err
}

// Close ends everything that the engine does: lock.Client.Close says how.
func (e *Engine) Close() {
	e.once.Do(e.close)
	<-e.closed
}

// refuse lets no new call in and sends the waiters home. It returns a channel that is closed when
// the calls under way have ended, which they do by themselves: waiters at once, the others with
// their round trip.
func (e *Engine) refuse() (calls <-chan struct{}) {
	e.refusing.Do(func() { close(e.closing) })
	e.hub.Stop()
	return e.calls.close()
}

// close ends things in an order in which nothing is left behind:
//
//  1. Calls and functions of Do are refused, so that there are no new leases. One that is granted
//     yet finds its handing withheld, or the renewals closed.
//  2. All leases end, and jobs are told. Their margins begin.
//  3. What they hold is released, each when its margin is over. That wakes who waits elsewhere.
//  4. Calls and releases under way end by themselves. Both may still add to the janitor's work, so
//     the janitor is closed after them.
//  5. The hub gives back what signals its waiters did not use, for which it needs the store.
//
// No step waits beyond end. At that time a timer cuts the connections, and what waits for Redis
// fails.
func (e *Engine) close() {
	defer close(e.closed)
	began := time.Now()
	calls, fns := e.refuse(), e.fns.close()
	e.store.CutRenewals()
	terms := e.leases.Close(renewal.ErrClosed)
	end := began.Add(longestMargin(terms) + store.OperationLimit)
	// Whatever waits for Redis then, here or in the background, fails at once.
	cut := time.AfterFunc(time.Until(end), e.store.Cut)
	defer cut.Stop()

	e.settle(terms, began, end, fns)
	waitUntil(end, calls)
	waitUntil(end, e.releases.close())
	e.janitor.Close(end)
	e.hub.Close(time.Until(end))
	e.store.Close(time.Until(end))
}

// longestMargin returns the longest margin of the terms. Nobody works under a lease that was not
// handed out.
func longestMargin(terms []*renewal.Term[*Lease]) time.Duration {
	var longest time.Duration
	for _, t := range terms {
		if l := t.Data(); !l.handing.withheld() {
			longest = max(longest, l.settings.MarginFor(t.TTL()))
		}
	}
	return longest
}

// settle gives back what ended leases hold, each after its margin, and waits until end for the
// functions of Do.
func (e *Engine) settle(terms []*renewal.Term[*Lease], began, end time.Time, fns <-chan struct{}) {
	var others []endedLease
	inDo := false
	for _, t := range terms {
		l := t.Data()
		switch {
		case l.handing.withheld():
			back := l.task(false)
			back.Due, back.Until = began, end
			e.janitor.Add(back)
		case l.inDo.Load():
			inDo = true
		case !e.keep:
			others = append(others, endedLease{l, began.Add(l.settings.MarginFor(t.TTL())), t.Err()})
		}
	}
	slices.SortFunc(others, func(a, b endedLease) int { return a.due.Compare(b.due) })
	for len(others) > 0 {
		waitUntil(others[0].due, nil)
		n := 1
		for n < min(len(others), store.BatchSize) && time.Until(others[n].due) <= 0 {
			n++
		}
		// Who calls Unlock meanwhile waits for this limit, and not for the other margins.
		limit := store.LimitFromNow()
		if end.Before(limit) {
			limit = end
		}
		e.releaseAll(others[:n], limit)
		others = others[n:]
	}
	if inDo {
		waitUntil(end, fns)
	}
}

// An endedLease is a lease that Close has ended. It may not know its term yet: the acquire that was
// granted at this moment is still to tell it.
type endedLease struct {
	*Lease
	due   time.Time // when the margin is over
	cause error
}

// releaseAll gives back what leases hold that Close has ended, except those that the program
// released meanwhile. Each is claimed as by Release, so that a call of it gets this result. Between
// the claim and the result there is one round trip, and no wait for a margin.
func (e *Engine) releaseAll(leases []endedLease, limit time.Time) {
	tasks := make([]janitor.Task, 0, len(leases))
	runs := make([]store.Run, 0, len(leases))
	mine := make([]endedLease, 0, len(leases))
	for _, l := range leases {
		if _, first := l.claim(); first {
			t := l.task(false)
			tasks, runs, mine = append(tasks, t), append(runs, t.Release()), append(mine, l)
		}
	}
	if len(mine) == 0 {
		return
	}
	found, errs := e.store.ReleaseAll(context.Background(), limit, runs)
	for i, l := range mine {
		l.released(l.release, l.result(tasks[i], answer{ended: l.cause, found: found[i], err: errs[i]}))
	}
}
