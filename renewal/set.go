package renewal

import (
	"time"
	"weak"
)

// New returns an open set that renews its terms by extend, which must not be nil. A nil o is ready
// for use. New starts nothing; the first Add of a term that needs it does.
func New[T any](extend ExtendFunc[T], o *Options[T]) *Set[T] {
	if extend == nil {
		panic("renewal: New without an ExtendFunc")
	}
	s := &Set[T]{
		extend: extend,
		clock:  Now,
		stop:   make(chan struct{}),
		live:   make(map[*Term[T]]struct{}),
	}
	if o != nil {
		s.opts = *o
	}
	return s
}

// Add puts a term into the set that was acquired by a command sent at c.Sent. Its [Term.Data] is
// data. Add does not block. It fails, and keeps nothing, with
//
//   - [ErrClosed] after Close
//   - [ErrExpired] if the term's validUntil has passed already
//   - [ErrMaxHold] if Config.MaxHold has
//
// A reply that came so late is not a success, and the lease should be given back.
func (s *Set[T]) Add(data T, c Config) (*Term[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	// The clock is read under the mutex: who waited for it long enough to be too late is told so.
	now := s.clock()
	lease, latest := c.deadlines()
	switch {
	case latest.left(now) <= 0:
		return nil, ErrMaxHold
	case lease.left(now) <= 0:
		return nil, ErrExpired
	}
	// All of this is under the mutex that Close takes: it finds the term here, or Add finds it closed.
	t := newTerm(s, data, c, now)
	s.live[t] = struct{}{}
	s.pace.addLocked(c.TTL, 1)
	s.tickForLocked(c.TTL, now)
	if !c.NoRenewal {
		s.startLocked()
		t.scheduleLocked(t.nextDueLocked(now), now)
	}
	return t, nil
}

// newTerm makes a term and starts its timer. s.mu is held, so that a timer which fires at once waits
// until the term is in the set.
func newTerm[T any](s *Set[T], data T, c Config, now Instant) *Term[T] {
	t := &Term[T]{
		set: s, data: data, noRenewal: c.NoRenewal, noExpiry: c.NoExpiry,
		done: make(chan struct{}), ttl: c.TTL, margin: c.Margin, confirmed: c.Sent,
	}
	t.place = place[*Term[T]]{of: t, pos: -1}
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

// startLocked starts the goroutine that renews, once. A set whose terms are never renewed has none.
func (s *Set[T]) startLocked() {
	if s.done != nil {
		return
	}
	s.done = make(chan struct{})
	s.alarm = time.NewTimer(0) // run looks at the queue first and sets it then
	go s.run()                 // owned by s; Close stops it by s.stop and waits for s.done
}

// Terms returns the live terms, in no order. It does not block.
func (s *Set[T]) Terms() []*Term[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	terms := make([]*Term[T], 0, len(s.live))
	for t := range s.live {
		terms = append(terms, t)
	}
	return terms
}

// Close ends every live term with cause, nil being [ErrClosed], and stops the set. Add fails from
// then on. It returns the terms that it ended, each of which was live until then.
//
// Close waits until a batch that is under way is over. That takes at most the limit of an attempt and
// what the functions of the [Options] take. After it returned nothing is written any more, and neither Renewed
// nor Failed is called. Every further Close only waits, and returns nothing. A function of the Options
// must not call Close, nor may the ExtendFunc.
func (s *Set[T]) Close(cause error) []*Term[T] {
	if cause == nil {
		cause = ErrClosed
	}
	events, done := s.shut(cause)
	// The ends are told before the wait: no job is to run on because a batch hangs.
	s.report(events...)
	if done != nil {
		await(done)
	}
	terms := make([]*Term[T], len(events))
	for i, e := range events {
		terms[i] = e.term
	}
	return terms
}

// shut ends all terms and tells run to end. It returns what is to be reported, and run's done.
//
// No term comes after it, as Add looks at closed under the same mutex. A batch under way finds its
// terms ended, and a timer that could not be stopped any more does as well.
func (s *Set[T]) shut(cause error) ([]event[T], <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.done
	}
	s.closed = true
	close(s.stop)
	now := s.clock()
	events := make([]event[T], 0, len(s.live))
	for t := range s.live {
		events = append(events, t.endLocked(now, cause))
	}
	if s.ticker != nil {
		s.ticker.Stop()
	}
	return events, s.done
}
