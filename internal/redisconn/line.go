package redisconn

import (
	"context"
	"time"
)

// A Line is one connection shared by goroutines. Calls that come while an exchange is under way are
// sent together in the next write, and replies are handed out in order. The connection is dialled
// when it is needed, and given up after any failure. Its successor first ends it in the server, so
// that whatever is sent later is also executed later.
//
// A caller whose context cannot end drives its own call, which spares two switches of goroutines.
// Every other call is driven by the line's own goroutine. A read cannot be interrupted without
// killing the connection, and a caller must be able to leave.
type Line struct {
	driver

	started bool          // the goroutine runs; belongs to whoever has the drive
	wake    chan struct{} // hands the drive to the goroutine; one slot, for the one drive there is
	done    chan struct{} // closed when the line is, nobody drives and the goroutine has ended
}

// NewLine returns a line that dials from source when it is first used.
func NewLine(source *Source) *Line {
	return &Line{
		driver: driver{port: source.newLinePort(), stop: make(chan struct{})},
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
}

// Do sends the call and waits for its replies, until ctx ends or the deadline has passed. Without
// replies the error is an [*Error], which says whether the call may have been executed. It wraps
// ctx.Err(), [ErrTimeout], [ErrClosed], [ErrReply], or what broke the connection. A caller who
// leaves while the call is under way harms neither the connection nor the calls of others.
func (l *Line) Do(ctx context.Context, c *Call) error {
	if err := ctx.Err(); err != nil {
		c.written()
		return &Error{Err: err}
	}
	drive, err := l.enqueue(c, ctx.Done() == nil, true)
	switch {
	case err != nil:
		return err
	case drive:
		l.driveFor(c)
		return c.err
	}
	return l.await(ctx, c)
}

// Go sends the call and does not wait. Only Written and Answered tell what becomes of the call.
func (l *Line) Go(c *Call) { _, _ = l.enqueue(c, false, false) }

// enqueue puts c into the queue. If nobody drives, the caller (inline) or the goroutine does.
func (l *Line) enqueue(c *Call, inline, waits bool) (drive bool, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		c.written()
		return false, &Error{Err: ErrClosed}
	}
	first := l.addLocked(c)
	drive = first && inline
	if waits && !drive {
		c.done = make(chan struct{})
	}
	if !first || l.link == nil { // the first one has the drive, and so may read link
		c.born = time.Now()
	}
	l.mu.Unlock()
	if first && !drive {
		l.handOver()
	}
	return drive, nil
}

// handOver gives the drive, which is the caller's, to the goroutine. mu is free then: else the
// goroutine would have to wait for it at once.
func (l *Line) handOver() {
	if !l.started {
		l.started = true
		go l.run() // owned by the line, ended by Close, which waits for done
	}
	l.wake <- struct{}{} // has room: there is one drive, and it was ours
}

// run drives whenever it is handed the drive.
func (l *Line) run() {
	defer close(l.done)
	for range l.wake {
		l.drive(true)
		for l.more() {
			l.drive(true)
		}
	}
}

// more reports whether there is more to drive. If not, the drive is given up.
func (l *Line) more() bool {
	more, closed := l.rest()
	if !more && closed {
		l.end()
	}
	return more
}

// driveFor drives for a caller until its call has ended, and hands what came meanwhile to the
// goroutine. The call is the first in the queue. One batch is enough for it, unless a dial failed
// that it can wait to be repeated. Only the driver changes the state of a call whose caller does
// not leave, so mu is not needed to read it.
func (l *Line) driveFor(c *Call) {
	for c.state == waiting {
		l.drive(false)
	}
	if l.more() {
		l.handOver()
	}
}

// await waits for the end of a call that somebody else drives. The line ends the call when it gives
// the call up. A call whose time is up before that needs a timer.
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
	if l.abandon(c) {
		c.written() // no driver has it
		return &Error{Err: err}
	}
	if over(c.done) { // the replies came at the same moment: they count
		return c.err
	}
	return &Error{Sent: true, Err: err}
}

// Close ends the connection: calls under way fail, as do later ones, with [ErrClosed]. It may be
// called repeatedly, and blocks until nobody drives and the line's goroutine has ended.
func (l *Line) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		<-l.done
		return
	}
	l.closed = true // the queue grows no more, and nobody begins to drive
	link, busy := l.link, l.busy
	close(l.stop) // ends a dial; the exchange ends with the link
	l.mu.Unlock()
	if link != nil {
		link.Close()
	}
	if !busy {
		l.end() // else the driver does, when it rests
	}
	<-l.done
}

// end is the end of a closed line, on which nobody drives any more. Nobody can begin to, so what
// belongs to the driver is the caller's.
func (l *Line) end() {
	l.port.Hangup()
	close(l.wake)
	if !l.started {
		close(l.done)
	}
}
