package renewal

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Set keeps terms fresh until each of them ends. It is open from [New] to [Set.Close]. From the
// first term on that is to be renewed it has one goroutine, which does the input and output, until
// Close. T is the caller's own data of a term, see [Term.Data]. There is no useful zero value.
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
	queue  queue[*Term[T]]       // those of live that are to be renewed and are in no batch

	done    chan struct{} // closed when run has ended; nil as long as run was not started
	alarm   *time.Timer   // wakes run; made with done
	alarmAt time.Time     // what alarm is set to; zero if it is not

	ticker *time.Timer   // calls tick; nil before the first term
	period time.Duration // between ticks; zero while none is to come
	pace   pace          // how often to tick, and whether the timers are right
	ticked Instant       // when the last tick was, or when ticking began
}

// A Term is one acquisition of one lease, from [Set.Add] on. It is live until it ends, once, for
// good. Then Done is closed and Err says why. It ends by the first of:
//
//   - [Term.End] or [Term.Lose]
//   - its validUntil passing, which MaxHold bounds
//   - the store saying that it is not ours
//   - [Set.Close]
//
// Most callers watch Done, and ask Valid right before what must not be done without the lease.
// Done is closed by a timer, which may be late; Valid looks at the clock. All methods may be called
// at any time by any number of goroutines. There is no useful zero value.
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

	// place is where in set.queue the term is. It is queued unless a batch carries it, it is not
	// renewed at all, or it has ended.
	place place[*Term[T]]

	// carrier is of the batch that carries the term, nil if none does. It is closed when no byte of
	// that batch will be written any more.
	carrier <-chan struct{}
}

// An ExtendFunc extends a batch of terms in the store. It extends each to its TTL if the store says
// that it is still ours. It returns one [Result] per [Request], in the order of the batch.
//
// It blocks at most limit. It must call written exactly when the last byte of the batch has been
// written, or when it gave up writing. Nothing of this batch may be written after that. Calls of
// written after the first do nothing, and returning counts as one.
//
// It is called by one goroutine, one batch after the other, with no mutex held. It may call any
// method of a Term or of the Set, with two exceptions, which wait for it: [Set.Close], and [Term.End]
// before written. The batch is its own.
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

// Options are a set's observers. A nil *Options, as each nil function, means that nobody looks.
//
// The functions must not block, since renewals wait for Renewed and Failed. They must not call
// [Set.Close], which waits for the goroutine that they are on. They may call everything else. No
// mutex is held while they run, so a term that is reported as renewed may have ended meanwhile.
type Options[T any] struct {
	// Renewed is called on the renewing goroutine after a confirmed renewal, with the new validUntil
	// as Term.Until gives it.
	Renewed func(t *Term[T], until time.Time)

	// Failed is called on the renewing goroutine after an attempt failed that will be repeated.
	Failed func(t *Term[T], err error)

	// Ending is called once per term right after its Done was closed, before Ended. If several terms
	// ended together it is called for all before Ended is for the first. It must be quick.
	Ending func(t *Term[T], cause error)

	// Ended is called once per term after its Done was closed, on the goroutine that ended it. That
	// is the caller's of End, Close or Confirm, the renewing one, or a timer's. cause is t.Err().
	Ended func(t *Term[T], cause error)
}
