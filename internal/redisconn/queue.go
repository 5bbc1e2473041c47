package redisconn

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// errBehind is the error of a call that had too little time left to be sent.
var errBehind = fmt.Errorf("%w: the connection, or others, took too long", ErrTimeout)

// A queue holds the calls of a line that nobody has begun, in the order in which the line gives
// them up. It also says whether somebody drives: takes calls, writes them and reads their replies.
//
// Nobody waits for the drive. Whoever adds a call while nobody drives has the drive. The driver
// gives it up when no call is left. Both happen under mu, so that no call is without a driver.
//
// Whether a call is ever written is decided under mu, too: by its caller, who may leave while the
// call waits, or by the driver, who begins the call. Whoever comes first has decided.
type queue struct {
	spare []*Call // the driver's: an emptied batch, for its memory

	mu     sync.Mutex // guards the fields below
	calls  []*Call
	last   time.Time // when the newest call is given up
	busy   bool      // somebody drives; true while calls is not empty
	closed bool      // no call is added, and nobody begins to drive
}

// addLocked puts a call into the queue. It returns true if nobody drove: now the caller does.
func (q *queue) addLocked(c *Call) (drive bool) {
	c.by = c.Deadline
	// Those before a call are given up first. A call with less time leaves by itself.
	if q.busy && c.by.Before(q.last) {
		c.by = q.last
	}
	q.last = c.by
	q.calls = append(q.calls, c)
	drive = !q.busy
	q.busy = true
	return drive
}

// abandon reports whether a call could be given up by its caller: no driver has begun it, and it is
// never sent. The call stays in the queue for the driver to remove.
func (q *queue) abandon(c *Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.state != waiting {
		return false
	}
	c.state = abandoned
	return true
}

// rest reports whether there is more to drive, and whether the line is closed. If there is no more,
// the drive is given up. If the line is closed then, the caller was the last driver and ends it.
func (q *queue) rest() (more, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = len(q.calls) > 0
	return q.busy, q.closed
}

// once reports whether a call in the queue is sent once only.
func (q *queue) once() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.calls, func(c *Call) bool { return c.Once && c.state != abandoned })
}

// first removes abandoned calls from the front of the queue. It returns when the first one behind
// them is given up; ok is false if there is none.
func (q *queue) first() (until time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.calls) && q.calls[n].state == abandoned {
		n++
	}
	q.calls = slices.Delete(q.calls, 0, n)
	if len(q.calls) == 0 {
		return time.Time{}, false
	}
	return q.calls[0].by, true
}

// fail removes and fails calls for which there is no connection: all of them, or with slow only
// those whose time is up.
func (q *queue) fail(err error, slow bool) {
	now := time.Now()
	var failed []*Call
	q.mu.Lock()
	q.calls = slices.DeleteFunc(q.calls, func(c *Call) bool {
		if c.state != abandoned && !(slow && c.by.After(now)) {
			c.state = begun
			failed = append(failed, c)
		}
		return c.state != waiting
	})
	q.mu.Unlock()
	failAll(failed, false, err)
}

// take removes calls from the queue, and returns of them the batch that is to be written. Those
// whose callers left are not in the batch, nor those that are not worth sending. An exchange may
// take as long as needs. The driver gives taken back to recycle when the batch has ended.
func (q *queue) take(needs time.Duration) (taken, batch []*Call) {
	now, why := time.Now(), errBehind
	var failed []*Call
	q.mu.Lock()
	if q.closed {
		why = ErrClosed
	}
	taken = q.cutLocked()
	batch = taken[:0] // never ahead of the loop, which reads the same memory
	for _, c := range taken {
		switch {
		case c.state == abandoned:
			continue
		case q.closed, c.tooLate(now, needs):
			failed = append(failed, c)
		default:
			c.Sent = now
			batch = append(batch, c)
		}
		c.state = begun // also of those that fail: their callers must not leave any more
	}
	q.mu.Unlock()
	failAll(failed, false, why) // without mu: it calls out
	return taken, batch
}

// cutLocked removes from the queue as many calls as may go out together. The rest moves to the
// memory of an earlier batch.
func (q *queue) cutLocked() []*Call {
	n, commands := 0, 0
	for n < len(q.calls) && commands < maxBatch {
		commands += len(q.calls[n].Commands)
		n++
	}
	taken := q.calls[:n:n]
	q.calls, q.spare = append(q.spare, q.calls[n:]...), nil
	return taken
}

// recycle keeps the memory of what take returned, and not the calls: those are their callers'.
func (q *queue) recycle(taken []*Call) {
	clear(taken)
	q.spare = taken[:0]
}
