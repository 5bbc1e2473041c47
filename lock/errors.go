package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
)

// The branches that callers take. Errors of this package carry them. Test with errors.Is.
var (
	// ErrHeld reports that somebody else holds the lock. The error is a [*HeldError], which says
	// who. [Mutex.TryLock], [Mutex.Adopt], [Mutex.Seize] and [Client.Block] return it. [Mutex.Lock]
	// and [Mutex.Do] return it with the error of their context. The error of [Client.Reset] does
	// not say who.
	ErrHeld = engine.ErrHeld

	// ErrLost reports that the lease ended before it was released. The error wraps what ended it.
	// [Lease.Err], the cause of the lease's context, and all calls of a lost lease return ErrLost,
	// and so does [Mutex.Do].
	ErrLost = engine.ErrLost

	// ErrNotHeld reports that nobody holds the lock. [Client.Owner] and [Mutex.Adopt] return it.
	// From [Lease.Unlock] and [Lease.Detach] it means that the lease did not hold the lock any
	// more. From [Client.ReleaseID] it means that the lock is not held under the id.
	ErrNotHeld = engine.ErrNotHeld

	// ErrMaxHold reports that a lease was held for as long as MaxHold allows. It comes with
	// [ErrLost].
	ErrMaxHold = engine.ErrMaxHold

	// ErrAlreadyHeld reports that the lock is held under the very id that MutexOptions.ID gives.
	// [Mutex.TryLock], [Mutex.Lock] and [Mutex.Do] return it.
	ErrAlreadyHeld = engine.ErrAlreadyHeld

	// ErrTooManyWaiters reports that as many calls wait as Options.MaxWaiters allows. [Mutex.Lock]
	// and [Mutex.Do] return it.
	ErrTooManyWaiters = engine.ErrTooManyWaiters

	// ErrDetached reports that the lease has ended by [Lease.Detach]. [Lease.Err], the cause of the
	// lease's context, and all calls of the lease return it.
	ErrDetached = engine.ErrDetached

	// ErrReleased reports that the lease has ended by [Lease.Unlock]. [Lease.Err], the cause of the
	// lease's context, and all calls of the lease but Unlock return it.
	ErrReleased = engine.ErrReleased

	// ErrUnknown reports that it is not known whether Redis executed the command. Each call that
	// sends a command can return it, but for [Client.Check]. What could be left behind is being
	// cleaned up, except under an id that the user gave. What is left behind expires at the latest
	// with its TTL.
	ErrUnknown = engine.ErrUnknown

	// ErrClosed reports that the client is closed, or is being closed. Each call that sends
	// something returns it then, also one that waits. With [ErrLost] it says that Close ended the
	// lease.
	ErrClosed = engine.ErrClosed

	// ErrWrongType reports that the lock's key, or one that belongs to it, holds something else.
	// Nothing was changed. Each call about one lock can return it. With [ErrLost] it says that
	// something else was put in the place of the lock.
	ErrWrongType = engine.ErrWrongType

	// ErrInvalid reports that an argument or option is not usable. Nothing was sent. Each call that
	// returns an error can return it.
	ErrInvalid = engine.ErrInvalid
)

// A HeldError says that a lock is held by somebody else. It Is [ErrHeld].
type HeldError struct {
	Owner Owner // who holds it, and for how long; without the ID
}

// Error names the owner, without the random part of its id.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lock %q is held by %v, %s", e.Owner.Name, e.Owner, leftText(e.Owner.TTL))
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// A lostError says why a lease ended before it was released.
type lostError struct {
	name  string
	cause error // never nil
}

// Error names the cause.
func (e *lostError) Error() string {
	return fmt.Sprintf("lock %q: lease lost: %v", e.name, e.cause)
}

// Is reports whether target is ErrLost.
func (e *lostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.cause }

// A waitError ends a Lock that did not get the lock. It says what ended the waiting, who held the
// lock when Redis last answered, and what went wrong on the way.
type waitError struct {
	name   string
	waited time.Duration
	ended  []error // the context's error and its cause
	held   *HeldError
	met    []error
}

func (e *waitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lock %q: gave up after %v: %v", e.name, e.waited.Round(time.Millisecond), e.ended[0])
	for _, err := range e.ended[1:] {
		fmt.Fprintf(&b, " (%v)", err)
	}
	if e.held != nil {
		fmt.Fprintf(&b, "; held by %v, %s", e.held.Owner, leftText(e.held.Owner.TTL))
	}
	for _, err := range e.met {
		fmt.Fprintf(&b, "; met: %v", err)
	}
	return b.String()
}

func (e *waitError) Unwrap() []error {
	errs := append([]error(nil), e.ended...)
	if e.held != nil {
		errs = append(errs, e.held)
	}
	return append(errs, e.met...)
}

// doError returns the error of a Do: what the function returned, and what became of the lease.
func doError(fn, lease error) error {
	if lease == nil {
		return fn
	}
	return &doneError{fn, lease}
}

type doneError struct {
	fn    error // nil if the function returned none
	lease error
}

// Error is one line, and says nothing twice: functions often return the cause of their context.
func (e *doneError) Error() string {
	about := e.lease
	if lost := new(lostError); errors.As(e.lease, &lost) {
		about = lost
	}
	text := oneLine(about)
	if e.fn == nil {
		return text
	}
	if fn := oneLine(e.fn); !strings.Contains(fn, text) {
		return fn + "; " + text
	}
	return oneLine(e.fn)
}

func (e *doneError) Unwrap() []error {
	if e.fn == nil {
		return []error{e.lease}
	}
	return []error{e.fn, e.lease}
}

// oneLine returns what an error says, errors that were joined one behind the other.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func leftText(ttl time.Duration) string {
	if ttl < 0 {
		return "without expiry"
	}
	return fmt.Sprintf("%v left", ttl.Round(time.Millisecond))
}

// invalid returns an error that Is ErrInvalid and says what is wrong with which value, and the
// remedy.
func invalid(format string, args ...any) error { return engine.Invalid(format, args...) }

// words make the engine's errors that carry facts.
var words = engine.Words{
	Held:   func(name string, by *store.Held) error { return heldError(name, by) },
	Lost:   func(name string, cause error) error { return &lostError{name, cause} },
	GaveUp: gaveUp,
}

func heldError(name string, by *store.Held) *HeldError {
	return &HeldError{Owner: ownerOf(name, by).anonymous()}
}

func gaveUp(g engine.GaveUp) error {
	e := &waitError{name: g.Name, waited: g.Waited, ended: g.Ended, met: g.Met}
	if g.Held != nil {
		e.held = heldError(g.Name, g.Held)
	}
	return e
}
