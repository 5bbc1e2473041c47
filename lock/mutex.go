package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// A Mutex is a lock's name and the settings with which it is taken. It holds nothing: each
// successful Lock or TryLock returns a [Lease], which is the one acquisition. Share it freely.
//
// Most callers want [Mutex.Do]. [Mutex.Lock] waits and [Mutex.TryLock] does not; with them it is
// the caller who must release the lease. It is not a sync.Locker, because locking can fail.
//
// Bad names and options show at the first call, as [ErrInvalid], before anything is sent.
type Mutex struct {
	client   *Client
	name     string
	settings settings
	err      error // what is wrong with name or settings
}

// Name returns the lock's name.
func (m *Mutex) Name() string {
	if m == nil {
		panic(errNoMutex)
	}
	return m.name
}

// Do waits for the lock, runs fn while holding it, and releases it. fn is never run without the
// lock. The context that it gets ends when the lease is lost or ctx ends; its cause tells which, see
// [Lease.Context]. fn must stop then: nobody else does it. [LeaseFrom] gives the lease itself.
//
// Do blocks as [Mutex.Lock] does, then as long as fn runs, then at most two operation limits of 2 s
// for the release; if the lease was lost, not at all, since the lock is released in the background then.
// If fn was not run, the error is that of Lock. Else it is what fn returns, together with:
//   - an error that Is [ErrLost] if the lease was lost meanwhile, even if fn returned nil;
//   - one that Is [ErrUnknown] if it is not known whether the lock was released.
//
// Its text says on one line what each of the two says. If fn panics, the lock is released and the panic
// goes on.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := m.check(); err != nil {
		return err
	}
	if fn == nil {
		return invalid("the function is nil: give one to run under the lock")
	}
	return m.client.hold(ctx, m.Lock, func(ctx context.Context, _ *Lease) error { return fn(ctx) })
}

// hold runs fn while it holds what take takes.
func (c *Client) hold(ctx context.Context, take func(context.Context) (*Lease, error),
	fn func(context.Context, *Lease) error,
) error {
	if !c.fns.enter() {
		return ErrClosed
	}
	defer c.fns.leave()
	lease, err := take(ctx)
	if err != nil {
		return err
	}
	lease.hold.inDo.Store(true)
	unlocked := false
	defer func() {
		if !unlocked { // fn panicked, or ended its goroutine
			_ = lease.finish()
		}
	}()
	inner, cancel := lease.Context(ctx)
	defer cancel()
	err = fn(inner, lease)
	unlocked = true
	return doError(err, lease.finish())
}

// TryLock takes the lock if it is free, without waiting. It blocks for one round trip; after a
// network error for a second one; at most for two operation limits of 2 s, and no longer than until
// ctx ends. ctx does not bound the lease.
//
// If somebody holds the lock the error is a [*HeldError], or Is [ErrAlreadyHeld] if it is held under the
// id that MutexOptions.ID gives. It Is [ErrUnknown] if Redis may have granted the lock without our
// learning of it; that is cleaned up in the background, for two minutes after the call, or left to expire
// under a given id. Any other error says what kept Redis from answering. No lease is held after an error.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.client.calls.leave()
	a := &attempt{mutex: m, since: time.Now()}
	return a.twice(ctx)
}

// Lock takes the lock, and waits for it while somebody else holds it: until it gets it or ctx ends.
// ctx does not bound the lease. The waiting does not poll; whoever waits in this process for the
// same name gets the lock in the order of the calls.
//
// Lock outlasts network errors, restarts and passing states of Redis such as LOADING or OOM, until ctx
// ends, and tells Hooks.Retrying. It returns at once
//   - network errors, until the client has reached Redis;
//   - READONLY and MOVED, which say that this server is the wrong one, until an acquire was answered;
//   - what will not pass: a refused password or right, [ErrWrongType], [ErrAlreadyHeld],
//     [ErrTooManyWaiters], [ErrClosed].
//
// When ctx ends, the error Is ctx.Err() and context.Cause(ctx), and also carries the [*HeldError]
// that Redis last answered and the errors met while waiting. It Is [ErrUnknown] if an acquire was
// under way; that is cleaned up in the background. No lease is held after an error.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.client.calls.leave()
	return m.lock(ctx, attempt{mutex: m, since: time.Now()})
}

// lock asks, and waits while somebody else holds the lock.
func (m *Mutex) lock(ctx context.Context, a attempt) (*Lease, error) {
	w := &wait{attempt: a}
	if m.client.hub.Queued(signal.Name{Name: m.name}) {
		if err := w.alreadyHeld(ctx); err != nil {
			return nil, w.end(ctx, err)
		}
		return w.inQueue(ctx)
	}
	lease, held, err := w.ask(ctx)
	switch {
	case lease != nil:
		return lease, nil
	case held != nil:
		w.held = held
	case w.hopeless(ctx, err):
		return nil, w.end(ctx, err)
	default:
		w.retry(err)
	}
	return w.inQueue(ctx)
}

// alreadyHeld looks whether the lock is held under the id that the user gave, which the others in the
// queue would find out only after it was released. What goes wrong with that does not matter.
func (w *wait) alreadyHeld(ctx context.Context) error {
	if w.given() == "" {
		return nil
	}
	held, err := w.mutex.client.store.owner(ctx, w.mutex.name)
	if err == nil && held != nil && held.owner == w.given() {
		return ErrAlreadyHeld
	}
	return nil
}

func (m *Mutex) enter(ctx context.Context) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.client.enter(ctx)
}

// check returns what is wrong with the mutex itself.
func (m *Mutex) check() error {
	if m == nil || m.err == nil && m.client.missing() {
		return errNoMutex
	}
	return m.err
}

// errNoMutex is the error of using a mutex that no client made; where no error is returned it is the panic's.
var errNoMutex = invalid("the mutex is nil, or empty: use one that Client.Mutex or Client.MutexWith returned")

func (m *Mutex) heldError(t *taken) *HeldError {
	o := parseOwner(m.name, t.owner, t.pttl).anonymous()
	return &HeldError{Name: m.name, Owner: o, TTL: o.TTL}
}

// A wait is one call of Lock that did not get the lock at once.
type wait struct {
	attempt
	place *signal.Waiter
	held  *HeldError // the last answer; nil if it was none
	met   []error    // errors on the way

	failing time.Time // when the first of the attempts in a row failed that got no answer
	failed  int       // how many these are
}

// inQueue waits for the turn to ask, asks, and so on.
func (w *wait) inQueue(ctx context.Context) (lease *Lease, err error) {
	c := w.mutex.client
	if !c.stats.wait(c.maxWaiters) {
		return nil, w.end(ctx, w.tooMany())
	}
	defer func() { c.stats.waited(lease != nil) }()
	left := signal.Unknown
	if w.held != nil {
		left = w.refused(w.held)
	}
	w.place, err = c.hub.Join(signal.Name{Name: w.mutex.name}, left)
	if err != nil {
		return nil, w.end(ctx, err)
	}
	defer func() { w.place.Leave(lease != nil) }()
	if w.held != nil {
		w.place.Tell(w.held)
	}
	for {
		if err := w.place.Wait(ctx); err != nil {
			return nil, w.end(ctx, err)
		}
		lease, held, err := w.persist(ctx)
		switch {
		case lease != nil:
			return lease, nil
		case err != nil:
			return nil, w.end(ctx, err)
		}
		left := w.refused(held)
		w.place.Tell(held)
		w.place.Taken(left)
	}
}

// tooMany returns the error of a wait that may not begin.
func (w *wait) tooMany() error {
	err := fmt.Errorf("%w: %d wait in this client, as many as MaxWaiters allows",
		ErrTooManyWaiters, w.mutex.client.maxWaiters)
	if w.held != nil {
		err = errors.Join(err, w.held)
	}
	return errors.Join(append([]error{err}, w.met...)...)
}

// persist asks until Redis answers.
func (w *wait) persist(ctx context.Context) (*Lease, *HeldError, error) {
	for {
		lease, held, err := w.ask(ctx)
		if err == nil || w.hopeless(ctx, err) {
			return lease, held, err
		}
		w.retry(err)
		w.place.Tell(nil)
		if !w.pause(ctx) {
			return nil, nil, ErrClosed
		}
	}
}

// refused takes note of who holds the lock, and returns for how long.
func (w *wait) refused(held *HeldError) signal.Left {
	w.held, w.failed = held, 0
	tell(w.mutex.client.hooks.Waiting, WaitingInfo{
		Name: held.Name, Owner: held.Owner, Waited: time.Since(w.since),
	})
	if held.TTL == NoExpiry {
		return signal.Forever
	}
	return signal.For(held.TTL)
}

// retry takes note of an error after which the attempt is repeated.
func (w *wait) retry(err error) {
	w.note(err)
	c := w.mutex.client
	c.stats.retried()
	if w.failed++; w.failed == 1 {
		w.failing = time.Now()
	}
	if _, ok := c.retries.due(err); ok {
		tell(c.hooks.Retrying, RetryingInfo{
			Name: w.mutex.name, Err: err, For: time.Since(w.failing), Times: w.failed,
		})
	}
}

// maxMet bounds the errors that a wait keeps.
const maxMet = 4

// note keeps an error for the final one. What Redis answered before it is not known to be true any
// more.
func (w *wait) note(err error) {
	w.held = nil
	for i, old := range w.met {
		if old.Error() == err.Error() {
			w.met = append(w.met[:i], w.met[i+1:]...)
			break
		}
	}
	if len(w.met) == maxMet {
		w.met = w.met[1:]
	}
	w.met = append(w.met, err)
}

// pause waits 20 to 200 ms before the next attempt, or until ctx ends. It returns false at once when
// the client is closed.
func (w *wait) pause(ctx context.Context) bool {
	t := time.NewTimer(20*time.Millisecond + rand.N(180*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-w.mutex.client.closing:
		return false
	}
	return true
}

// end returns the error with which the waiting ends.
func (w *wait) end(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return w.fail(err)
	}
	e := &waitError{name: w.mutex.name, waited: time.Since(w.since), held: w.held, met: w.met}
	e.ended = []error{ctx.Err()}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		e.ended = append(e.ended, cause)
	}
	if w.place != nil {
		if held, ok := w.place.Told().(*HeldError); ok && e.held == nil {
			e.held = held // what the head of the queue was told; this one may never have asked
		}
		e.met = append(e.met, w.place.Trouble()...)
	}
	if w.id != "" || w.stray {
		e.met = append(e.met, ErrUnknown)
		w.settle()
	}
	return e
}
