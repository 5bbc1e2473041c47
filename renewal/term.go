package renewal

import (
	"context"
	"sync/atomic"
	"time"
	"weak"
)

// A Config describes a term to [Set.Add].
type Config struct {
	TTL       time.Duration // how long the store keeps the lease after each extend
	Margin    time.Duration // by how much the term ends before the store's; below zero means zero
	Sent      Instant       // read before the acquire was sent
	NoRenewal bool          // never extend the term, only end it in time

	// MaxHold is how long after Sent the term ends at the latest, with ErrMaxHold, however well
	// it is renewed; zero means no such limit. Renewals go on at their interval until then.
	MaxHold time.Duration

	// NoExpiry says that the store keeps the lease for ever once it was told to. The term has TTL
	// and Margin as any other until that is confirmed, by [Term.Confirm] or a Renewed result. From
	// then on it is permanent: no clock ends it, save by MaxHold. The ExtendFunc is still called,
	// at the interval that TTL and Margin give, as the check of whether it is ours still; a check
	// that fails is repeated until one does not. With NoRenewal there is no such check, so that a
	// permanent term does not learn of its loss.
	NoExpiry bool
}

// deadlines returns until when the acquire is believed in, and Sent + MaxHold.
func (c *Config) deadlines() (lease, latest Instant) {
	lease, latest = c.Sent.add(span(c.TTL, c.Margin)), never
	if c.MaxHold != 0 {
		latest = c.Sent.add(c.MaxHold)
	}
	return lease, latest
}

// A Term is one acquisition of one lease, from [Set.Add] on. It is live until it ends, once, for
// good, by the first of: [Term.End] or [Term.Lose]; its validUntil passing, which MaxHold bounds; the store saying
// that it is not ours; [Set.Close]. Then Done is closed and Err says why.
//
// Most callers watch Done, and ask Valid right before what must not be done without the lease:
// Done is closed by a timer, which may be late, and Valid looks at the clock. All methods may be
// called at any time by any number of goroutines. There is no useful zero value.
type Term[T any] struct {
	set       *Set[T]
	data      T
	noRenewal bool
	noExpiry  bool
	latest    Instant                 // Sent + MaxHold, or never
	done      chan struct{}           // closed under set.mu when the term ends
	until     atomic.Pointer[Instant] // validUntil; never nil; stored under set.mu, read by anybody
	err       error                   // why it ended; written before done is closed, read only after

	// The fields below are guarded by set.mu.

	ttl, margin time.Duration
	lease       Instant     // validUntil if it were not for latest; never if the term is permanent
	timer       *time.Timer // runs to until and calls expire; stopped if that is never
	confirmed   Instant     // when the last confirmed acquire or extend was sent
	failure     error       // of the last renewal; nil once one was confirmed
	agains      int         // how many Agains there were in a row
	carrier     *attempt[T] // the batch that carries the term; then the term is not in the queue

	due   time.Time // when to renew it, while it is queued
	class int       // where in the queue it is
	pos   int       // where in its class it is; -1 if it is not queued
}

// newTerm makes a term and starts its timer. s.mu is held.
func newTerm[T any](s *Set[T], data T, c Config, now Instant) *Term[T] {
	t := &Term[T]{
		set: s, data: data, noRenewal: c.NoRenewal, noExpiry: c.NoExpiry,
		done: make(chan struct{}), ttl: c.TTL, margin: c.Margin, confirmed: c.Sent, pos: -1,
	}
	t.lease, t.latest = c.deadlines()
	until := earliest(t.lease, t.latest)
	t.until.Store(&until)
	// A stopped timer may stay in the runtime's heap until it would have fired, so it must not
	// keep the term alive. A live one is held by s.live, and s by its ticker.
	w := weak.Make(t)
	s.pace.setLocked(now)
	t.timer = time.AfterFunc(min(until.left(now), maxTimer), func() {
		if t := w.Value(); t != nil {
			t.expire()
		}
	})
	return t
}

// Data is what [Set.Add] was given. It does not block.
func (t *Term[T]) Data() T { return t.data }

// Done is closed when the term has ended. It is closed at validUntil at the latest, as far as the
// scheduler and the timers go; see [Term.Valid].
func (t *Term[T]) Done() <-chan struct{} { return t.done }

// Err is nil until Done is closed, then the cause of the end: the one given to End, Lose or Close, or
// one that is [ErrExpired], [ErrMaxHold] or [ErrNotOwner].
func (t *Term[T]) Err() error {
	if !t.ended() {
		return nil
	}
	return t.err
}

// Valid reports whether the term is live and its validUntil is still to come, by both clocks, right
// now and whatever timers do. It takes no lock and is cheap.
func (t *Term[T]) Valid() bool {
	return !t.ended() && t.until.Load().left(t.set.clock()) > 0
}

// Until is validUntil, the last one if the term has ended. It has a monotonic reading. For a
// permanent term it is the end of its MaxHold, and without one the zero time, for never.
func (t *Term[T]) Until() time.Time { return t.until.Load().Time() }

// TTL is how long the store keeps the lease after the next extend: what [Config] or the last
// [Term.Retime] said. For a permanent term it only sets the interval of the checks. It does not
// block on input or output.
func (t *Term[T]) TTL() time.Duration {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.ttl
}

// ended reports whether done is closed. It takes no lock: a receive from an open channel that
// nobody sends on does not.
func (t *Term[T]) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// End ends the term with cause, takes it out of the set, calls Options.Ended, and then, if a batch
// that carries the term is being written, waits for the end of that write, never for the reply.
// After it returned no renewal of the term is written, so that a release can be sent.
//
// It returns true if this very call ended the term in time. It returns false if the term had ended
// before, or if its validUntil had passed while its timer was late; the cause is [ErrExpired] or
// [ErrMaxHold] then, whatever End was given. In both cases too the write is waited for. A nil cause
// counts as [context.Canceled].
func (t *Term[T]) End(cause error) bool {
	inTime, a := t.end(cause)
	// A batch is put together, and its terms are marked, under the mutex. So either it was marked
	// before: a is the batch, and its write is waited for even if it has not begun. Or it was not:
	// then the term has left the queue, and no later batch can carry it.
	if a != nil {
		await(a.writeOver)
	}
	return inTime
}

// Lose is End for who has heard from the store that the lease is not ours: it waits for no write, since
// a renewal of it that is written now finds the same.
func (t *Term[T]) Lose(cause error) { t.end(cause) }

// end ends the term, and returns whether it did so in time, and the batch that carries the term.
func (t *Term[T]) end(cause error) (inTime bool, carrier *attempt[T]) {
	if cause == nil {
		cause = context.Canceled
	}
	t.set.mu.Lock()
	now := t.set.clock()
	inTime = !t.ended() && !t.passedLocked(now)
	e := t.endLocked(now, cause)
	carrier = t.carrier
	t.set.mu.Unlock()
	t.set.report(e)
	return inTime, carrier
}

// expire is called by the timer. The deadline may have moved since the timer was set.
func (t *Term[T]) expire() {
	t.set.mu.Lock()
	now := t.set.clock()
	var e event[T]
	if t.passedLocked(now) {
		e = t.endLocked(now, nil)
	} else if !t.ended() {
		t.timeLocked(now)
	}
	t.set.mu.Unlock()
	t.set.report(e)
}

// endLocked ends a live term and returns what is to be reported; a term that has ended is left as
// it is. If validUntil has passed that is the cause, and the given one does not count: who was too
// late must not look as if he had been in time.
func (t *Term[T]) endLocked(now Instant, cause error) event[T] {
	if t.ended() {
		return event[T]{}
	}
	if t.passedLocked(now) {
		cause = t.tooLateLocked(now)
	}
	t.timer.Stop()
	t.set.queue.remove(t)
	delete(t.set.live, t)
	t.set.pace.addLocked(t.ttl, -1)
	t.err = cause
	close(t.done)
	return event[T]{kind: hasEnded, term: t, err: cause}
}

// passedLocked reports whether validUntil has passed. It does not say whether the term has ended.
func (t *Term[T]) passedLocked(now Instant) bool { return t.until.Load().left(now) <= 0 }

// tooLateLocked is why a term ended whose validUntil has passed. Both parts of it may have, if
// nobody looked for long enough: the one that did so first is the reason.
func (t *Term[T]) tooLateLocked(now Instant) error {
	if t.latest.left(now) <= t.lease.left(now) {
		return ErrMaxHold
	}
	return because(ErrExpired, t.failure)
}
