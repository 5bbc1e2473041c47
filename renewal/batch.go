package renewal

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Bounds of a batch.
const (
	maxBatch  = 512                  // terms
	minWindow = 5 * time.Millisecond // what falls due within TTL/20, at least this, goes along
	maxLimit  = 2 * time.Second      // of an attempt, which is TTL/6 otherwise
	minLimit  = time.Millisecond     // of an attempt, however close validUntil is
)

// An attempt is one batch on its way, from when it was put together until its results are in. The
// terms that it carries know no more of it than writeOver.
type attempt[T any] struct {
	reqs  []Request[T] // sorted by TTL, at least one; the ExtendFunc gets a copy
	until Instant      // the first of the batch's leases to run out, see Term.lease

	writeOver chan struct{} // closed when no byte of the batch will be written any more
	once      sync.Once     // closes writeOver
}

// gatherLocked takes the terms of c out of the queue that go into one batch and marks them as
// carried by it. s.mu is held.
//
// Those that expired while their timer is late are left out, for good: a renewal would only prolong
// what nobody believes in. Their timers are about to end them.
func (s *Set[T]) gatherLocked(c *class[*Term[T]], now Instant) *attempt[T] {
	a := &attempt[T]{writeOver: make(chan struct{})}
	horizon := now.mono.Add(max(c.head().of.ttl/20, minWindow))
	for len(*c) > 0 && len(a.reqs) < maxBatch && !c.head().due.After(horizon) {
		if t := c.take(); !t.passedLocked(now) {
			a.carryLocked(t, now)
		}
	}
	slices.SortStableFunc(a.reqs, func(x, y Request[T]) int { return cmp.Compare(x.TTL, y.TTL) })
	return a
}

// carryLocked adds t to the batch. MaxHold does not count for the time that the batch has. A term
// that is about to reach it would take that time from the others, which may need all of it.
func (a *attempt[T]) carryLocked(t *Term[T], now Instant) {
	t.carrier = a.writeOver
	if len(a.reqs) == 0 || t.lease.left(now) < a.until.left(now) {
		a.until = t.lease
	}
	a.reqs = append(a.reqs, Request[T]{Term: t, TTL: t.ttl, NoExpiry: t.noExpiry, margin: t.margin})
}

// limit is how long the attempt may take if it is sent at sent. It ends with the first lease that runs
// out: from then on a hanging connection only keeps the others from being sent anew.
func (a *attempt[T]) limit(sent Instant) time.Duration {
	return max(min(a.reqs[0].TTL/6, maxLimit, a.until.left(sent)), minLimit)
}

// written says that no byte of the batch will be written any more. The ExtendFunc may call it, and
// more than once.
func (a *attempt[T]) written() { a.once.Do(func() { close(a.writeOver) }) }
