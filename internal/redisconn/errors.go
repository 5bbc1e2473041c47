package redisconn

import (
	"errors"
	"fmt"
)

// The errors of calls and of dials.
var (
	// ErrClosed is the error of a call on a closed line, and of dialling from a closed source.
	ErrClosed = errors.New("the connection is closed")
	// ErrTimeout is the error of an exchange that Redis did not answer within its limit.
	ErrTimeout = errors.New("no answer from Redis within the time limit")
	// ErrReply is the error of a call whose reply is none that its command has. Another call may
	// have the right one. So the connection is closed, and what was executed is not known.
	ErrReply = errors.New("the reply is not what the command returns: is a proxy in between?")
)

// An Error says that a call got no reply, and whether Redis may have executed it all the same.
type Error struct {
	Sent bool // the call may have been executed
	Err  error
}

// Error returns the text of the cause.
func (e *Error) Error() string {
	switch {
	case errors.Is(e.Err, ErrReply):
		return e.Err.Error()
	case e.Sent:
		return fmt.Sprintf("no reply: %v", e.Err)
	}
	return fmt.Sprintf("not sent: %v", e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// nothingThere is the error of a read that does not block. TLS takes the error for a passing one,
// so that its connection lives on.
type nothingThere struct{}

func (nothingThere) Error() string   { return "nothing is there to read" }
func (nothingThere) Timeout() bool   { return true }
func (nothingThere) Temporary() bool { return true }
