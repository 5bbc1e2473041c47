package store

import (
	"errors"
	"fmt"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// ErrReply is the error of a reply that is none that its script or command has. redisconn finds
// that before a reply comes here, and closes the connection: somebody else may have this call's
// reply.
//
// What takes a reply in checks it once more, and agrees with what redisconn was told to look for.
var ErrReply = redisconn.ErrReply

// ErrClosed is the error of a call after the store was cut or closed. One that was under way may
// have been executed, which [Sent] tells.
var ErrClosed = redisconn.ErrClosed

// Answers of Redis that are errors to whoever asked. No repeat changes them.
var (
	// ErrNobody says that nobody holds what was to be taken over.
	ErrNobody error = decided("nobody holds it")
	// ErrChanged says that a lock is not held as it was seen.
	ErrChanged error = decided("it changed hands meanwhile")
	// ErrNoMembers is why nothing can be taken from a pool.
	ErrNoMembers error = decided("the pool has no members")
)

// A decided error is an answer. Its text is for users, with the name of what was asked for before
// it.
type decided string

func (e decided) Error() string { return string(e) }

// Decided reports whether err is an answer of Redis, so that to ask again is of no use.
func Decided(err error) bool { return errors.As(err, new(decided)) }

// Sent reports whether a call that got no reply of its own may have been executed. That is so if it
// was written, if its reply was another's, or if either is true of an earlier attempt at it. A
// refusal of Redis is a reply: nothing was executed.
func Sent(err error) bool {
	if err == nil {
		return false
	}
	var e *redisconn.Error
	return errors.As(err, &e) && e.Sent || errors.Is(err, ErrReply) || errors.As(err, new(*unsureError))
}

// Broken reports whether err came from the way to Redis, and not from Redis. A refusal comes from
// Redis also where the way to it passes it on, as a dial does with a wrong password. A reply that
// is none is not broken either: to ask once more at once would be to ask whoever sent that.
func Broken(err error) bool {
	if err == nil {
		return false
	}
	var e *redisconn.Error
	return errors.As(err, &e) && !Refused(err) && !errors.Is(err, ErrReply)
}

// Refused reports whether err is an error reply of Redis: the command was not executed.
func Refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// Unsent returns err as that of a call which changed nothing, however far it came. It is for
// questions that are asked on the way to a change, and so that nobody cleans up after them.
func Unsent(err error) error {
	var e *redisconn.Error
	if errors.As(err, &e) {
		return &redisconn.Error{Err: e.Err}
	}
	return err
}

// Repeatable reports whether what ended with err, which is not nil, may work if it is tried again.
// After ErrReply it may, but whoever is on the other side is not trusted a second time by the same
// call.
func Repeatable(err error) bool {
	return !errors.Is(err, ErrClosed) && !errors.Is(err, ErrReply) && !Decided(err) && !Permanent(err)
}

// Permanent reports whether err, which is not nil, is a refusal that no repeat changes.
func Permanent(err error) bool { return redisconn.Classify(err) == redisconn.Permanent }

// Misplaced reports whether err is the refusal of a server that is not the right one any more, such
// as a demoted master. The connection to it has been given up.
func Misplaced(err error) bool { return Refused(err) && redisconn.Classify(err) == redisconn.Moved }

// HasCode reports whether err is an error reply of Redis that carries the code, wherever in the
// text it stands.
func HasCode(err error, code string) bool { return redisconn.HasCode(err, code) }

// WrongType reports whether Redis refused because a key is of another type.
func WrongType(err error) bool { return redisconn.HasCode(err, "WRONGTYPE") }

// CrossSlot reports whether Redis refused because the keys are in more than one slot of a cluster.
func CrossSlot(err error) bool { return redisconn.HasCode(err, "CROSSSLOT") }

// NoScript reports whether Redis refused because it does not know the script.
func NoScript(err error) bool { return Refused(err) && redisconn.Classify(err) == redisconn.NoScript }

// Cause returns what err, which is not nil, has in common with others of its cause, such as the
// code of an error reply. There are few.
func Cause(err error) string { return redisconn.Kind(err) }

// Repeated returns the error of a call whose first attempt failed with first, and its repeat with
// err. If the first may have been executed, so may the call, whatever the repeat was told.
func Repeated(first, err error) error {
	if err != nil && Sent(first) && !Sent(err) {
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

// noScript reports whether a reply says that Redis does not know the script.
func noScript(reply any) bool {
	err, ok := reply.(error)
	return ok && redisconn.Classify(err) == redisconn.NoScript
}
