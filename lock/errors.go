package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
	"github.com/holdfast-go/holdfast/signal"
)

// The branches that callers take. Errors of this package carry them; test with errors.Is.
var (
	// ErrHeld: somebody else holds the lock. The error is a [*HeldError], which says who.
	ErrHeld = errors.New("lock: held by another owner")
	// ErrLost: the lease ended before it was released. The error is a [*LostError], with the cause.
	ErrLost = errors.New("lock: lease lost")
	// ErrNotHeld: nobody holds the lock; of Unlock and Detach, this lease did not hold it any more; of
	// Adopt and ReleaseID, it is not held under the id.
	ErrNotHeld = errors.New("lock: not held")
	// ErrMaxHold is why a lease was lost that was held for as long as MaxHold allows.
	ErrMaxHold = errors.New("lock: held for as long as MaxHold allows")
	// ErrAlreadyHeld: the lock is held under the very id that MutexOptions.ID gives.
	ErrAlreadyHeld = errors.New("lock: already held under this id")
	// ErrTooManyWaiters: as many calls wait as Options.MaxWaiters allows.
	ErrTooManyWaiters = errors.New("lock: too many waiters")
	// ErrDetached is the cause of a lease's end after Detach.
	ErrDetached = errors.New("lock: lease detached")
	// ErrReleased is the cause of a lease's end after Unlock.
	ErrReleased = errors.New("lock: lease released")
	// ErrUnknown: it is not known whether Redis executed the command. What could be left behind is
	// being cleaned up, except under an id that the user gave, and expires at the latest with its TTL.
	ErrUnknown = errors.New("lock: outcome not known")
	// ErrClosed: the client is closed, or is being closed.
	ErrClosed = errors.New("lock: client closed")
	// ErrWrongType: the lock's key, or one that belongs to it, holds something else. Nothing was
	// changed.
	ErrWrongType = errors.New("lock: the key holds something else than a lock")
	// ErrInvalid: an argument or option is not usable. Nothing was sent.
	ErrInvalid = errors.New("lock: invalid")
)

// A HeldError says that a lock is held by somebody else. It Is [ErrHeld].
type HeldError struct {
	Name  string
	Owner Owner         // without its ID
	TTL   time.Duration // left when Redis was asked, at most 100 years; NoExpiry for a lock without expiry
}

// Error names the owner, without the random part of its id.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lock %q is held by %v, %s", e.Name, e.Owner, leftText(e.TTL))
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// A LostError says why a lease ended before it was released. It Is [ErrLost].
type LostError struct {
	Name  string
	Cause error // what ended it; never nil
}

// Error names the cause.
func (e *LostError) Error() string {
	return fmt.Sprintf("lock %q: lease lost: %v", e.Name, e.Cause)
}

// Is reports whether target is [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// A waitError ends a Lock that did not get the lock: what ended the waiting, who held it when Redis
// last answered, and what went wrong on the way.
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
		fmt.Fprintf(&b, "; held by %v, %s", e.held.Owner, leftText(e.held.TTL))
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
	if lost := new(LostError); errors.As(e.lease, &lost) {
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
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// explain wraps an error of Redis or of the way there for the user. It Is ErrUnknown if the call may have
// been executed.
func explain(op, name string, err error) error {
	if sent(err) {
		return fmt.Errorf("lock: %s %q: %w: %w", op, name, ErrUnknown, translated(err))
	}
	return fmt.Errorf("lock: %s %q: %w", op, name, translated(err))
}

// translated returns err in this package's terms.
func translated(err error) error {
	switch {
	case errors.Is(err, redisconn.ErrClosed), errors.Is(err, signal.ErrClosed):
		return ErrClosed
	case redisconn.HasCode(err, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", ErrWrongType, err)
	case redisconn.HasCode(err, "CROSSSLOT"):
		return fmt.Errorf("in Redis Cluster all keys of a client must be in one slot:"+
			" give it a prefix with a hash tag, as in Options{Prefix: \"{app}:\"}: %w", err)
	}
	return err
}

// sent reports whether a call that got no reply of its own may have been executed.
func sent(err error) bool {
	if err == nil {
		return false
	}
	var e *redisconn.Error
	return errors.As(err, &e) && e.Sent || errors.Is(err, errReply) || errors.As(err, new(*unsureError))
}

// repeated returns the error of a call whose first attempt failed with first, and its repeat with err. If
// the first may have been executed, so may the call, whatever the repeat was told.
func repeated(first, err error) error {
	if err != nil && sent(first) && !sent(err) {
		return &unsureError{err}
	}
	return err
}

// An unsureError is that of a repeat after an attempt that may have been executed.
type unsureError struct{ repeat error }

func (e *unsureError) Error() string {
	return fmt.Sprintf("the first attempt got no reply, and the second one failed: %v", e.repeat)
}

func (e *unsureError) Unwrap() error { return e.repeat }

// refused reports whether err is an error reply of Redis: the command was not executed.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// lost returns the error of a lease that ended with a cause of the renewal's.
func lost(name string, cause error) error {
	var other *otherOwner
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, ErrReleased), errors.Is(cause, ErrDetached):
		return cause
	case errors.Is(cause, renewal.ErrClosed):
		cause = ErrClosed
	case errors.As(cause, &other):
		cause = other
	case errors.Is(cause, errLeaked):
		cause = errLeaked
	case errors.Is(cause, ErrWrongType):
		cause = fmt.Errorf("something else was put in its place: %w", ErrWrongType)
	case errors.Is(cause, renewal.ErrMaxHold):
		cause = ErrMaxHold
	case errors.Is(cause, renewal.ErrExpired):
		cause = &expired{cause}
	}
	return &LostError{Name: name, Cause: cause}
}

// An otherOwner is why a lease was lost that Redis disowned.
type otherOwner struct {
	owner Owner
	free  bool // nobody holds the lock
}

func (e *otherOwner) Error() string {
	if e.free {
		return "Redis says that nobody holds it"
	}
	return fmt.Sprintf("Redis says that it is held by %v", e.owner)
}

func (e *otherOwner) Unwrap() error { return renewal.ErrNotOwner }

// expired is why a lease was lost that was not renewed in time.
type expired struct {
	cause error // the renewal's, with its last error if there was one
}

func (e *expired) Error() string {
	for _, err := range causes(e.cause) {
		if err != renewal.ErrExpired {
			return fmt.Sprintf("not renewed in time: %v", err)
		}
	}
	return "its time was up"
}

func (e *expired) Unwrap() error { return e.cause }

// causes returns what err is made of.
func causes(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}
