package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
	"github.com/holdfast-go/holdfast/signal"
)

// The sentinels of package lock, which documents them.
var (
	ErrHeld           = errors.New("lock: held by another owner")
	ErrLost           = errors.New("lock: lease lost")
	ErrNotHeld        = errors.New("lock: not held")
	ErrMaxHold        = errors.New("lock: held for as long as MaxHold allows")
	ErrAlreadyHeld    = errors.New("lock: already held under this id")
	ErrTooManyWaiters = errors.New("lock: too many waiters")
	ErrDetached       = errors.New("lock: lease detached")
	ErrReleased       = errors.New("lock: lease released")
	ErrUnknown        = errors.New("lock: outcome not known")
	ErrClosed         = errors.New("lock: client closed")
	ErrWrongType      = errors.New("lock: the key holds something else than a lock")
	ErrInvalid        = errors.New("lock: invalid")
)

// Words make the errors that carry facts for users. All must be set.
type Words struct {
	// Held returns the error of what somebody else holds.
	Held func(name string, by *store.Held) error
	// Lost returns the error of a lease that ended with this cause, which is never nil.
	Lost func(name string, cause error) error
	// GaveUp returns the error of a wait whose context ended.
	GaveUp func(GaveUp) error
}

// GaveUp says how a wait ended that did not get what it waited for.
type GaveUp struct {
	Name   string
	Waited time.Duration
	Ended  []error     // the context's error and its cause
	Held   *store.Held // who held it when Redis last answered; nil if that is not known
	Met    []error     // what went wrong on the way
}

// lost returns the error of a lease that ended with a cause of the renewal's: nil for nil.
func (w *Words) lost(name string, cause error) error {
	var other *OtherOwner
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
	return w.Lost(name, cause)
}

// An OtherOwner is why a lease was lost that Redis disowned.
type OtherOwner struct {
	Owner owner.ID
	Free  bool // nobody holds it
}

// otherOwner returns the cause of the end of a lease whose key has this value, "" for none.
func otherOwner(value string) error { return &OtherOwner{Owner: owner.Parse(value), Free: value == ""} }

// Error names the owner, without the random part of its id.
func (e *OtherOwner) Error() string {
	if e.Free {
		return "Redis says that nobody holds it"
	}
	return fmt.Sprintf("Redis says that it is held by %v", e.Owner)
}

// Unwrap returns the renewal's error.
func (e *OtherOwner) Unwrap() error { return renewal.ErrNotOwner }

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

// errLeaked is why a lease ended that the program dropped.
var errLeaked = &leakedError{}

type leakedError struct{}

func (*leakedError) Error() string { return "the program dropped it without Unlock" }

// errGone is why a lease turns out lost that was believed in.
var errGone = errors.New("the lock is somebody else's or nobody's, says Redis")

// errLate is why a lock that Redis granted is not taken: its lease was over when the reply came.
var errLate = errors.New("the reply came after the lease's end")

// Invalid returns an error that Is [ErrInvalid] and says what is wrong with which value, and the
// remedy.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// Explain wraps an error of Redis, or of the way there, for the user. The result Is [ErrUnknown] if
// the call may have been executed.
func Explain(op, name string, err error) error {
	if store.Sent(err) {
		return fmt.Errorf("lock: %s %q: %w: %w", op, name, ErrUnknown, translated(err))
	}
	return fmt.Errorf("lock: %s %q: %w", op, name, translated(err))
}

// translated returns err in the terms of package lock.
func translated(err error) error {
	switch {
	case errors.Is(err, store.ErrClosed), errors.Is(err, signal.ErrClosed):
		return ErrClosed
	case store.WrongType(err):
		return fmt.Errorf("%w: %w", ErrWrongType, err)
	case store.CrossSlot(err):
		return fmt.Errorf("in Redis Cluster all keys of a client must be in one slot:"+
			" give it a prefix with a hash tag, as in Options{Prefix: \"{app}:\"}: %w", err)
	}
	return err
}

// repeatable reports whether what ended with err may work if it is tried again.
func repeatable(err error) bool {
	switch {
	case errors.Is(err, errLate):
		return true
	case errors.Is(err, ErrClosed), errors.Is(err, ErrAlreadyHeld), errors.Is(err, ErrInvalid):
		return false
	}
	return store.Repeatable(err)
}

// ErrNoClient is the error of using a client that is nil, or that was not made by lock.Open or
// lock.New. Where no error is returned it is the panic's.
var ErrNoClient = Invalid("the client is nil: use the one that Open or New returned, if their error is nil")
