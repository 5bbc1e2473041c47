package redisconn

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// maxBatch bounds the commands of one write, and the calls in flight.
const maxBatch = 1024

// A Call is one or more commands that are sent together, in order, and their replies. A call is
// used once. After Do returned with an error, its other fields must not be read, nor its commands
// changed: the call may be under way still.
//
// A call has one owner at a time. While it waits, that is the mu of its queue. From begun on it is
// the driver, until finish.
type Call struct {
	Commands []Command
	Deadline time.Time // when the call must have its replies
	Once     bool      // the call is not sent again if its outcome is unknown
	Written  func()    // if not nil, called once: from then on nothing of the call is written
	Answered func()    // if not nil, called by the driver when the replies are there; must not wait

	Replies []any     // one per command, if there was no error; error replies are redis.Error
	Sent    time.Time // read before the first byte was written

	where string        // the server that answered: "redis at host:port"; "" if that is not known
	state callState     // guarded by the mu of its queue
	born  time.Time     // when it was queued, if it may have to wait; zero: it goes out at once
	by    time.Time     // when the line gives it up: Deadline, or when those ahead are given up
	done  chan struct{} // closed when err is set; nil: nobody waits
	err   error         // set once, by finish
	one   [1]Command    // the memory of Commands in a call of one
	reply [1]any        // and of its Replies
}

// A callState says who has decided whether a call is written. It changes once.
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

// Refused returns the error that the reply to a command is, with the server that gave it; or nil.
func (c *Call) Refused(i int) error {
	refused, ok := c.Replies[i].(redis.Error)
	if !ok {
		return nil
	}
	return at(c.where, refused)
}

// tooLate reports whether the call is not worth sending any more. A call that is sent and not
// answered in the little time that is left would cost its neighbours the connection. needs is what
// an exchange may take.
//
// A call that has less than that, and less than half of what it had when it came, is not sent: its
// next attempt finds the connection there. Else each attempt would end the connection that it had
// waited for, and so on for ever. A call that goes out at once is sent whatever it has left.
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

// finish ends the call. Its caller may go on from here on, so nothing of the call is touched after
// done is closed.
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
		return // nearly always, and then no error is allocated
	}
	failure := &Error{Sent: sent, Err: err}
	for _, c := range calls {
		c.finish(failure)
	}
}
