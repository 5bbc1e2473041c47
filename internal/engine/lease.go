package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// A Lease is one acquisition of something. It has no way back to what the program has of it, so
// that one that the program dropped can be noticed. Its methods may be called from any goroutine.
//
// A lease has no goroutine. Three others act on it beside the program's: the renewing one extends
// and ends it, Close ends and releases it, and the janitor sees to what is left. Each of its ends
// is decided once:
//
//	the term      by renewal.Term, for whatever ends it first: a release, a loss, Close
//	the release   by claim: the first one to ask does it, and everybody gets its result
//	the handing   whether Lock returned the lease, or Close came before
//
// What does not change after the lease was made needs no mutex. Everything else is atomic, or has a
// mutex of its own, and none of these is held while another is taken.
type Lease struct {
	*core
	name     string
	id       string
	fence    int64         // 0: none
	holding  store.Holding // what is held
	settings Settings

	// term is set before the lease is handed out, but after the renewals know it. What they call
	// must use the term that it is given.
	term      *renewal.Term[*Lease]
	since     time.Time    // when Redis had granted it
	late      atomic.Int64 // nanoseconds from then until it was handed out
	repeated  bool         // an earlier acquire of this id may be executed late
	inDo      atomic.Bool  // Do releases it
	handing   handing
	dropped   atomic.Bool // the program dropped the lease: the next renewal ends it
	permanent atomic.Bool // of a lease without expiry: its key was last seen to have none
	cuts      cutter
	contexts  contexts

	mu      sync.Mutex // guards the field below, and two fields of the release
	release *release   // nil until somebody claims it; it does not change any more then
}

// A release is the one release of a lease, for whoever asks for it.
type release struct {
	done chan struct{}
	err  error // set before done is closed

	// Guarded by Lease.mu.
	over bool  // done is closed
	lost error // Events.Lost is to be told
}

// Name returns the name of what is held.
func (l *Lease) Name() string { return l.name }

// ID returns the owner id.
func (l *Lease) ID() string { return l.id }

// Fence returns the fencing token, 0 for none.
func (l *Lease) Fence() int64 { return l.fence }

// Settings returns what the lease goes by.
func (l *Lease) Settings() *Settings { return &l.settings }

// Valid reports whether the lease is held at this moment, by this machine's clocks.
func (l *Lease) Valid() bool { return l.term.Valid() }

// Deadline returns when the lease ends if it is not renewed again: the zero time for never.
func (l *Lease) Deadline() time.Time { return l.term.Until() }

// TTL returns the TTL that the next renewal gives.
func (l *Lease) TTL() time.Duration { return l.term.TTL() }

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.term.Done() }

// Err returns nil while the lease is held, then how it ended.
func (l *Lease) Err() error { return l.lost(l.term.Err()) }

// lost returns what is said of the lease when it ended with a cause of the renewal's: nil for nil.
func (l *Lease) lost(cause error) error { return l.words.lost(l.name, cause) }

// Drop takes note that the program has dropped the lease.
//
// It only leaves a note. The runtime calls it from outside of any synctest bubble. From there the
// channels and timers of a lease in a bubble must not be touched.
func (l *Lease) Drop() { l.dropped.Store(true) }

// UsedByDo takes note that Do releases the lease, so that Close leaves it to Do.
func (l *Lease) UsedByDo() { l.inDo.Store(true) }

// Context returns a context that ends with the lease, or with parent, and what is to be given to
// [Lease.Forget] when it is not needed any more.
func (l *Lease) Context(parent context.Context) (context.Context, *End) {
	inner, stop := context.WithCancelCause(parent)
	end := &End{inner: inner, stop: stop}
	if !l.contexts.add(end) {
		stop(l.Err())
	}
	return inner, end
}

// Forget ends a context of the lease.
func (l *Lease) Forget(end *End) { l.contexts.remove(end) }

// ending is what the renewal calls at once when a term has ended, on whichever goroutine ended it.
// Jobs are told here, by their contexts. So nothing here may block, and no hook is called.
//
// A lease that Close ends before it was handed out is withheld here, before Close looks which ones
// were.
func ending(t *renewal.Term[*Lease], cause error) {
	l := t.Data()
	if errors.Is(cause, renewal.ErrClosed) {
		l.handing.withhold()
	}
	l.contexts.end(l.lost(cause))
}

// ended is what the renewal calls after that, once for each term. While a release is under way,
// Events.Lost has to wait for its end: a hook that calls Unlock would otherwise wait for an Unlock
// that waits for the hook.
func ended(t *renewal.Term[*Lease], cause error) {
	l := t.Data()
	err := l.lost(cause)
	released := err == ErrReleased || err == ErrDetached
	l.stats.countEnd(!released)
	if released {
		return
	}
	leaked := l.dropped.Load()
	if l.settings.NoExpiry && (leaked || !errors.Is(cause, renewal.ErrNotOwner)) {
		l.janitor.Expire(l.holding)
	}
	if !l.tellLater(err) && !l.handing.withheld() {
		tell(l.events.Lost, Lost{l.name, err})
	}
	if leaked {
		tell(l.events.Leaked, l.name)
	}
}

// tellLater reports whether a release is under way, which tells of the loss at its end. The mutex
// is what decides: conclude sets over and reads lost under it, so a loss is told by exactly one of
// the two.
func (l *Lease) tellLater(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	later := l.release != nil && !l.release.over
	if later {
		l.release.lost = err
	}
	return later
}

// claim returns the release, and whether it is the caller who does it. Whoever does it must call
// conclude: the others wait for that, without a limit of their own.
func (l *Lease) claim() (r *release, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release != nil {
		return l.release, false
	}
	l.release = &release{done: make(chan struct{})}
	return l.release, true
}

// conclude gives everybody who asks for the release its result, and tells of a loss that came to
// light meanwhile. The hook is called when done is closed already, so that it may call Unlock
// itself.
func (l *Lease) conclude(r *release, err error) {
	l.mu.Lock()
	r.err, r.over = err, true
	lost := r.lost
	l.mu.Unlock()
	close(r.done)
	if lost != nil {
		tell(l.events.Lost, Lost{l.name, lost})
	}
}

// until returns when nobody has to care any more about a release that was not answered: the key has
// expired by itself then.
func (l *Lease) until(now time.Time) time.Time {
	if l.settings.NoExpiry {
		return now.Add(forEver)
	}
	return now.Add(l.cuts.most() + store.OperationLimit)
}

// mayBeOvertaken reports whether an earlier acquire of the lease's id may be executed yet. Its
// connection was closed before the repeat, which then was granted.
func (l *Lease) mayBeOvertaken(now time.Time) bool {
	return l.repeated && now.Sub(l.since) < janitor.LateLimit
}

// task returns the task to release the lease's holding: if the lease was held to the end, not
// before its minimum is over.
func (l *Lease) task(held bool) janitor.Task {
	t := janitor.Task{What: l.holding, NoExpiry: l.settings.NoExpiry}
	keep := l.since.Add(l.settings.AtLeast + time.Duration(l.late.Load()))
	if held && time.Until(keep) > 0 {
		t.Keep = keep
	}
	return t
}
