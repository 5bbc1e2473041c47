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

// An ExtendFunc extends a batch of terms in the store, each to its TTL if the store says that it
// is still ours, and returns one [Result] per [Request], in the order of the batch.
//
// It blocks at most limit. It must call written exactly when the last byte of the batch has been
// written, or when it gave up writing: nothing of this batch may be written after that. Calls of
// written after the first do nothing, and returning counts as one. It is called by one goroutine,
// one batch after the other, with no mutex held. It may call any method of a Term or of the Set,
// except [Set.Close], and [Term.End] not before written, for which both wait. The batch is its own.
//
// The TTLs of a batch lie within a factor of two, the shortest comes first, and there are at most
// 512. A term that has ended since may be among them: extending it is harmless.
type ExtendFunc[T any] func(batch []Request[T], limit time.Duration, written func()) []Result

// A Request asks for one term to be extended to TTL from now. The TTL is what the term had when
// the batch was put together; a Retime since then has its own extend.
type Request[T any] struct {
	Term     *Term[T]
	TTL      time.Duration
	NoExpiry bool // make it permanent, or see that it is ours still, instead: see Config.NoExpiry

	margin time.Duration // what the term had together with TTL
}

// An Outcome is what became of a [Request]. The zero value is [Failed].
type Outcome int

// The outcomes of a Request.
const (
	Failed   Outcome = iota // not extended as far as is known: tried again until validUntil
	Renewed                 // extended: validUntil moves
	NotOwner                // the store says that it is not ours: the term ends at once
	Again                   // not executed, send it anew at once: not a failure, not reported
)

// String names the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Renewed:
		return "renewed"
	case NotOwner:
		return "not owner"
	case Again:
		return "again"
	default:
		return "failed"
	}
}

// A Result answers a [Request]. A missing one counts as [Failed].
type Result struct {
	Outcome Outcome
	Err     error // with Failed: why. With NotOwner: who owns it now, if that is known; may be nil
}

// An attempt is one batch on its way. A term points to the attempt that carries it, from when it
// was put together until its results are in.
type attempt[T any] struct {
	reqs  []Request[T] // sorted by TTL, at least one; the ExtendFunc gets a copy
	until Instant      // the first of the batch's leases to run out, see Term.lease

	writeOver chan struct{} // closed when no byte of the batch will be written any more
	once      sync.Once     // closes writeOver
}

// gatherLocked takes the terms of c out of the queue that go into one batch and marks them as
// carried by it. Those that expired while their timer is late are left out, for good: a renewal
// would only prolong what nobody believes in. Their timers are about to end them. s.mu is held.
func (s *Set[T]) gatherLocked(c *class[T], now Instant) *attempt[T] {
	a := &attempt[T]{writeOver: make(chan struct{})}
	horizon := now.mono.Add(max(c.head().ttl/20, minWindow))
	for len(*c) > 0 && len(a.reqs) < maxBatch && !c.head().due.After(horizon) {
		if t := c.take(); !t.passedLocked(now) {
			a.carryLocked(t, now)
		}
	}
	slices.SortStableFunc(a.reqs, func(x, y Request[T]) int { return cmp.Compare(x.TTL, y.TTL) })
	return a
}

// carryLocked adds t to the batch. MaxHold does not count for the time that the batch has: a term
// that is about to reach it would take that time from the others, which may have been late to none.
func (a *attempt[T]) carryLocked(t *Term[T], now Instant) {
	t.carrier = a
	if len(a.reqs) == 0 || t.lease.left(now) < a.until.left(now) {
		a.until = t.lease
	}
	a.reqs = append(a.reqs, Request[T]{Term: t, TTL: t.ttl, NoExpiry: t.noExpiry, margin: t.margin})
}

// limit is how long the attempt may take if it is sent at sent.
func (a *attempt[T]) limit(sent Instant) time.Duration {
	return max(min(a.reqs[0].TTL/6, maxLimit, a.until.left(sent)), minLimit)
}

// written says that no byte of the batch will be written any more.
func (a *attempt[T]) written() { a.once.Do(func() { close(a.writeOver) }) }

// result is the answer to the i-th request, made good where the ExtendFunc left something out.
func result(results []Result, i int) Result {
	var r Result
	if i < len(results) {
		r = results[i]
	}
	switch r.Outcome {
	case Renewed, NotOwner, Again:
	default:
		r.Outcome = Failed
		if r.Err == nil {
			r.Err = errUnexplained
		}
	}
	return r
}
