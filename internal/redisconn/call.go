package redisconn

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// maxBatch bounds the commands of one write, and the calls in flight.
const maxBatch = 1024

// A Call is one or more commands that are sent together, in order, and their replies. It is used
// once. After Do returned with an error its other fields must not be read, nor its commands
// changed: the call may be under way still.
type Call struct {
	Commands []Command
	Deadline time.Time // when it must have its replies
	Once     bool      // it is not sent again if its outcome is unknown
	Written  func()    // if not nil, called once: from then on nothing of the call is written
	Answered func()    // if not nil, called by the driver when the replies are there; it must not block

	Replies []any     // one per command; error replies are redis.Error
	Sent    time.Time // read before the first byte was written

	where string        // the server that answered: "redis at host:port"; "" if that is not known
	state callState     // guarded by the mu of its queue
	born  time.Time     // when it was queued, if it may have to wait there; zero: it goes out at once
	by    time.Time     // when the line gives it up: Deadline, or when those ahead of it are given up
	done  chan struct{} // closed when err is set; nil: nobody waits
	err   error
	one   [1]Command
	reply [1]any
}

type callState int

const (
	waiting   callState = iota
	begun               // a driver decides its fate: it may be written from here on
	abandoned           // its caller left before that: it is never written
)

// NewCall returns a call of a single command.
func NewCall(deadline time.Time, cmd Command) *Call {
	c := &Call{Deadline: deadline}
	c.one[0] = cmd
	c.Commands, c.Replies = c.one[:], c.reply[:]
	return c
}

// NewBatch returns a call of several commands.
func NewBatch(deadline time.Time, cmds []Command) *Call {
	return &Call{Deadline: deadline, Commands: cmds, Replies: make([]any, len(cmds))}
}

// Refused returns the error that the reply to a command is, with the server that gave it; nil if it is
// none.
func (c *Call) Refused(i int) error {
	refused, ok := c.Replies[i].(redis.Error)
	if !ok {
		return nil
	}
	return at(c.where, refused)
}

// tooLate reports whether the call is not worth sending any more. To send one that is not answered in the
// little that is left would cost its neighbours the connection. needs is what an exchange on it may take.
// If the call has less, and less than half of what it had
// when it came, it is not sent: the next attempt finds the connection there, where each attempt would
// else end the one that it waited for, and so on for ever.
func (c *Call) tooLate(now time.Time, needs time.Duration) bool {
	left := c.Deadline.Sub(now)
	if c.born.IsZero() || left <= 0 {
		return left <= 0
	}
	had := c.Deadline.Sub(c.born)
	return left < had/10 || left < needs && left < had/2
}

// written tells that nothing of the call is written any more. It is called by the driver of a call
// that has begun, and else by the call's own caller.
func (c *Call) written() {
	if c.Written != nil {
		c.Written()
		c.Written = nil
	}
}

// finish ends the call. Its caller may go on from here on.
func (c *Call) finish(err error) {
	c.written()
	c.err = err
	if c.Answered != nil && err == nil {
		c.Answered()
	}
	if c.done != nil {
		close(c.done)
	}
}

// failAll ends calls that get no replies. sent says that they may have been executed.
func failAll(calls []*Call, sent bool, err error) {
	if len(calls) == 0 {
		return // which is mostly so, and then nothing is allocated
	}
	failure := &Error{Sent: sent, Err: err}
	for _, c := range calls {
		c.finish(failure)
	}
}
