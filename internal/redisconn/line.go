package redisconn

import (
	"context"
	"sync"
	"time"
)

// A Line is one connection shared by goroutines. Calls that come while an exchange is under way
// are sent together in the next write, and replies are handed out in order. The connection is
// dialled when it is needed, and given up after any failure. The one that replaces it first ends it in
// the server, so that whatever is sent later is also executed later.
//
// The queue is in the order in which the line gives its calls up. A call with less time than those ahead
// of it has to leave by itself.
//
// Whoever has set busy drives: takes the queue, writes it, reads the replies. A caller whose
// context cannot end drives its own call, which spares two switches of goroutines; every other
// call is driven by the line's own goroutine, because a read cannot be interrupted without killing
// the connection, and a caller must be able to leave.
type Line struct {
	port *Port
	stop chan struct{} // closed by Close
	wake chan struct{} // hands the drive to the goroutine; one slot, for the one drive there is
	done chan struct{} // closed when the line is closed, nobody drives and the goroutine has ended

	spare []*Call // the driver's: an emptied batch, for its memory

	mu      sync.Mutex // guards the fields below
	link    *Link      // nil: not connected. Only the driver changes it, and reads it without mu
	queue   []*Call
	last    time.Time // when the newest call is given up
	busy    bool      // somebody drives; true while queue is not empty
	started bool      // the goroutine runs
	closed  bool
}

// NewLine returns a line that dials from source when it is first used.
func NewLine(source *Source) *Line {
	return &Line{
		port: source.newLinePort(),
		stop: make(chan struct{}),
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
}

// Do sends the call and waits for its replies, until ctx ends or the deadline has passed. Without
// replies its error is an [*Error], which says whether the call may have been executed. The caller
// may leave while the call is under way; the connection and the calls of others are not harmed.
func (l *Line) Do(ctx context.Context, c *Call) error {
	if err := ctx.Err(); err != nil {
		c.written()
		return &Error{Err: err}
	}
	inline := ctx.Done() == nil
	drive, err := l.enqueue(c, inline, true)
	switch {
	case err != nil:
		c.written()
		return err
	case drive:
		l.driveFor(c)
		return c.err
	}
	return l.await(ctx, c)
}

// Go sends the call and does not wait for it; what becomes of it is not told.
func (l *Line) Go(c *Call) {
	if _, err := l.enqueue(c, false, false); err != nil {
		c.written()
	}
}

// enqueue puts c into the queue. If nobody drives, the caller (inline) or the goroutine does.
func (l *Line) enqueue(c *Call, inline, waits bool) (drive bool, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false, &Error{Err: ErrClosed}
	}
	idle := !l.busy
	drive = inline && idle
	if waits && !drive {
		c.done = make(chan struct{})
	}
	if !idle || l.link == nil {
		c.born = time.Now()
	}
	c.by = c.Deadline
	if !idle && c.by.Before(l.last) {
		c.by = l.last
	}
	l.last = c.by
	l.queue = append(l.queue, c)
	l.busy = true
	if idle && !drive {
		l.handOverLocked()
	}
	l.mu.Unlock()
	if idle && !drive {
		l.wake <- struct{}{} // has room: there is one drive, and it was ours
	}
	return drive, nil
}

// await waits for the end of a call that somebody else drives. The line ends it when it gives it up; a
// call whose time is up before that needs a timer.
func (l *Line) await(ctx context.Context, c *Call) error {
	var late <-chan time.Time
	if c.Deadline.Before(c.by) {
		t := time.NewTimer(time.Until(c.Deadline))
		defer t.Stop()
		late = t.C
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return l.leave(c, ctx.Err())
	case <-late:
		return l.leave(c, errBehind)
	}
}

// leave gives up waiting for c. If no driver has begun it, it is never sent.
func (l *Line) leave(c *Call, err error) error {
	l.mu.Lock()
	gone := c.state == waiting
	if gone {
		c.state = abandoned
	}
	l.mu.Unlock()
	if gone {
		c.written()
		return &Error{Err: err}
	}
	select {
	case <-c.done: // the replies came at the same moment: they count
		return c.err
	default:
	}
	return &Error{Sent: true, Err: err}
}

// Close ends the connection: calls under way fail, as do later ones. It waits for whoever drives
// and for the line's goroutine; both notice at once.
func (l *Line) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		<-l.done
		return
	}
	l.closed = true // the queue grows no more, and nobody begins to drive
	link, busy := l.link, l.busy
	close(l.stop)
	l.mu.Unlock()
	if link != nil {
		link.Close()
	}
	if !busy {
		l.end() // else the driver does, when it rests
	}
	<-l.done
}

// end is the end of a closed line, on which nobody drives any more.
func (l *Line) end() {
	l.port.Hangup()
	l.mu.Lock()
	started := l.started
	l.mu.Unlock()
	close(l.wake)
	if !started {
		close(l.done)
	}
}
