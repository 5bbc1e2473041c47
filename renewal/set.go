package renewal

import (
	"sync"
	"time"
)

const (
	maxPeriod = time.Second      // between two looks at the wall clock, which is TTL/10 otherwise
	minPeriod = time.Millisecond // whatever the TTL

	// maxTimer is how far ahead a timer is set; what is further ahead is looked at anew then.
	maxTimer = 24 * time.Hour

	// patience is how long End and Close wait for an attempt that does not end. It is longer than
	// any limit, so an ExtendFunc that keeps to its own is always waited for.
	patience = maxLimit + time.Second
)

// Options are a set's observers. A nil *Options, as each nil function, means that nobody looks.
// The functions must not block, since renewals wait for Renewed and Failed, and must not call
// [Set.Close], which waits for the goroutine that they are on. They may call everything else. They
// are called with no mutex held, so a term that is reported as renewed may have ended meanwhile.
type Options[T any] struct {
	// Renewed is called on the renewing goroutine after a confirmed renewal, with the new validUntil
	// as Term.Until gives it.
	Renewed func(t *Term[T], until time.Time)

	// Failed is called on the renewing goroutine after an attempt failed that will be repeated.
	Failed func(t *Term[T], err error)

	// Ending is called once per term right after its Done was closed, before Ended, and for all terms
	// that ended together before Ended is called for the first of them. It must be quick.
	Ending func(t *Term[T], cause error)

	// Ended is called once per term after its Done was closed, on the goroutine that ended it: the
	// caller's of End, Close or Confirm, the renewing one, or a timer's. cause is t.Err().
	Ended func(t *Term[T], cause error)
}

// A Set keeps terms fresh until each of them ends. It is open from [New] to [Set.Close]. From the
// first term on that is to be renewed it has one goroutine, which does the input and output, until
// Close. There is no useful zero value.
//
// T is the caller's own data of a term, see [Term.Data].
//
// Most callers Add a term after each acquisition, watch its Done, and End it before they release.
// All methods may be called at any time by any number of goroutines.
type Set[T any] struct {
	extend ExtendFunc[T]
	opts   Options[T]
	clock  func() Instant // Now; tests put one here whose wall clock they can set
	stop   chan struct{}  // closed by the first Close: run ends

	mu sync.Mutex // guards the fields below and those of each Term; never held while calling out

	closed bool
	live   map[*Term[T]]struct{} // every term that has not ended
	queue  queue[T]              // those of live that are to be renewed and are in no batch

	done    chan struct{} // closed when run has ended; nil as long as run was not started
	alarm   *time.Timer   // wakes run; made with done
	alarmAt time.Time     // what alarm is set to; zero if it is not

	ticker *time.Timer   // calls tick; nil before the first term
	period time.Duration // between ticks; zero while none is to come
	pace   pace          // how often to tick, and whether the timers are right
	ticked Instant       // when the last tick was, or when ticking began
}

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
// data. It does not block.
// It fails with [ErrClosed] after Close, and with [ErrExpired] if the term's validUntil has passed
// already: a reply that came so late is not a success, and the lease should be given back. If it was
// Config.MaxHold that has passed the error is [ErrMaxHold]. After an error nothing is kept.
func (s *Set[T]) Add(data T, c Config) (*Term[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	now := s.clock()
	lease, latest := c.deadlines()
	switch {
	case latest.left(now) <= 0:
		return nil, ErrMaxHold
	case lease.left(now) <= 0:
		return nil, ErrExpired
	}
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

// startLocked starts the goroutine that renews, once.
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

// Close ends every live term with cause, nil being [ErrClosed], and stops the set; Add fails from
// then on. It returns the terms that it ended, each of which was live until then. It waits until a batch
// that is under way is over, so at most for the limit of an attempt and for the functions of the
// [Options]. After it returned nothing is written any more and neither Renewed nor Failed is called.
// Every further Close only waits, and returns nothing. Close must not be called by a function of the
// Options or by the ExtendFunc.
func (s *Set[T]) Close(cause error) []*Term[T] {
	if cause == nil {
		cause = ErrClosed
	}
	events, done := s.shut(cause)
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

// await waits for ch to be closed, but not for ever.
func await(ch <-chan struct{}) {
	select {
	case <-ch:
		return
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
