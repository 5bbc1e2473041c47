package redisconn

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"
)

// maxBatch bounds the commands of one write.
const maxBatch = 1024

// errBehind is the error of a call that was not sent in time, because others were before it.
var errBehind = fmt.Errorf("%w: others were before it", ErrTimeout)

// handOverLocked gives the drive, which was the caller's, to the goroutine. The caller must send
// the wake-up, after it has freed mu: else the goroutine would have to wait for that at once.
func (l *Line) handOverLocked() {
	if !l.started {
		l.started = true
		go l.run() // owned by the line, ended by Close, which waits for done
	}
}

// run drives whenever it is handed the drive.
func (l *Line) run() {
	defer close(l.done)
	for range l.wake {
		l.drive(true)
		for l.more(false) {
			l.drive(true)
		}
	}
}

// driveOnce drives one batch for a caller and hands what came meanwhile to the goroutine.
func (l *Line) driveOnce() {
	l.drive(false)
	l.more(true)
}

// more reports whether there is more to drive; the drive is given up if not, and handed over if it
// is a caller's.
func (l *Line) more(inline bool) bool {
	l.mu.Lock()
	more := len(l.queue) > 0
	switch {
	case !more:
		l.busy = false
	case inline:
		l.handOverLocked()
	}
	closed := l.closed
	l.mu.Unlock()
	switch {
	case more && inline:
		l.wake <- struct{}{} // has room: there is one drive, and it was ours
	case !more && closed:
		l.end()
	}
	return more
}

// drive sends one batch and hands out its replies. With feed it goes on with what comes meanwhile:
// that is for the goroutine; a caller that drives must come back to its own work.
func (l *Line) drive(feed bool) {
	if feed && l.link == nil {
		l.dropLate(errBehind) // nobody else looks after them while this one dials for the others
	}
	err := l.connect()
	if feed && errors.Is(err, ErrTimeout) {
		l.dropLate(err) // the others, and who came since, can wait longer
		return
	}
	taken, batch, now := l.take(err)
	if len(batch) > 0 {
		l.exchange(batch, now, feed)
	}
	clear(taken)
	l.spare = taken[:0]
}

// connect dials if there is no connection. The calls stay in the queue meanwhile: they have not
// begun, and can be abandoned.
func (l *Line) connect() error {
	if l.link != nil {
		return nil
	}
	deadline, ok := l.patience()
	if !ok {
		return nil
	}
	link, err := l.port.dial(time.Until(deadline), l.stop)
	if err != nil {
		return err
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.link = link
	}
	l.mu.Unlock()
	if closed {
		link.Close() // Close came before it could see this one
		return ErrClosed
	}
	return nil
}

// patience returns the earliest deadline of the calls that are worth a dial; ok is false if there
// are none.
func (l *Line) patience() (first time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, c := range l.queue {
		if c.state != abandoned && !c.late(now) && (!ok || c.Deadline.Before(first)) {
			first, ok = c.Deadline, true
		}
	}
	return first, ok
}

// take removes calls from the queue, and returns of them the batch that is to be written. Those
// whose callers left are not in it, nor those whose time is up; and none is if dialErr says why.
func (l *Line) take(dialErr error) (taken, batch []*Call, now time.Time) {
	now = time.Now()
	var failed []*Call
	l.mu.Lock()
	if l.closed {
		dialErr = ErrClosed
	}
	if l.link == nil && dialErr == nil { // nobody was worth a dial; who came since is next
		l.mu.Unlock()
		l.dropLate(errBehind)
		return nil, nil, now
	}
	taken = l.cutLocked()
	batch = taken[:0]
	for _, c := range taken {
		if c.state == abandoned {
			continue
		}
		c.state = begun
		if dialErr != nil || c.late(now) {
			failed = append(failed, c)
			continue
		}
		c.Sent = now
		batch = append(batch, c)
	}
	l.mu.Unlock()
	if dialErr == nil {
		dialErr = errBehind
	}
	failAll(failed, &Error{Err: dialErr})
	return taken, batch, now
}

// dropLate removes from the queue the calls that were abandoned, and those that are late, which fail.
func (l *Line) dropLate(err error) {
	now := time.Now()
	var late []*Call
	l.mu.Lock()
	l.queue = slices.DeleteFunc(l.queue, func(c *Call) bool {
		if c.state != abandoned && c.late(now) {
			c.state = begun
			late = append(late, c)
		}
		return c.state != waiting
	})
	l.mu.Unlock()
	failAll(late, &Error{Err: err})
}

// cutLocked removes from the queue as many calls as may go out together.
func (l *Line) cutLocked() []*Call {
	n, commands := 0, 0
	for n < len(l.queue) && commands < maxBatch {
		commands += len(l.queue[n].Commands)
		n++
	}
	taken := l.queue[:n:n]
	l.queue, l.spare = append(l.spare, l.queue[n:]...), nil
	return taken
}

func earliest(calls []*Call) time.Time {
	first := calls[0].Deadline
	for _, c := range calls[1:] {
		if c.Deadline.Before(first) {
			first = c.Deadline
		}
	}
	return first
}

// feedEvery is after how many replies the line looks for more to send. Redis works on that while
// the rest of the replies are handed out, instead of waiting for the last of them.
const feedEvery = 16

// exchange sends the batch and hands out the replies. Everything is under the earliest deadline of
// the calls in flight: when that has passed, the connection is not worth waiting for.
func (l *Line) exchange(batch []*Call, now time.Time, feed bool) {
	flight, deadline := batch, earliest(batch)
	l.link.fuse.arm(deadline)
	l.link.inFlight.Store(true)
	err := l.link.write(batch)
	moved := false
	// Callers who were woken together with the first one need not wait for its reply.
	for n := 0; feed && err == nil && n < len(flight) && len(flight) < maxBatch; {
		n = len(flight)
		flight, now, err = l.feed(flight, now)
		deadline = earliest(flight)
	}
	for n := 1; err == nil && len(flight) > 0; n++ {
		if err = l.link.receive(flight[0], &moved); err == nil && len(flight) == 1 {
			err = l.link.surplus()
		}
		if err != nil {
			break
		}
		flight[0].finish(nil)
		flight = flight[1:]
		if feed && n%feedEvery == 0 && len(flight) > 0 && len(flight) < maxBatch && !moved {
			flight, now, err = l.feed(flight, now)
			deadline = earliest(flight)
		}
	}
	l.link.inFlight.Store(len(flight) > 0)
	err = l.link.disarm(deadline.Sub(now), err)
	if err != nil || moved {
		l.disconnect() // before anything is sent again, by whom ever
	}
	if len(flight) == 0 {
		return
	}
	if l.isClosed() {
		err = ErrClosed
	}
	if errors.Is(err, ErrReply) {
		flight[0].finish(&Error{Sent: true, Err: err})
		flight, err = flight[1:], errMixedUp
	}
	failAll(flight, &Error{Sent: true, Err: err})
}

// feed sends what has come into the queue behind the calls that are in flight.
func (l *Line) feed(flight []*Call, before time.Time) ([]*Call, time.Time, error) {
	runtime.Gosched() // those who got their replies may ask for more
	taken, more, now := l.take(nil)
	flight = append(flight, more...)
	l.link.fuse.arm(earliest(flight))
	var err error
	if len(more) > 0 {
		err = l.link.write(more)
	} else {
		now = before
	}
	clear(taken)
	l.spare = taken[:0]
	return flight, now, err
}

func (l *Line) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *Line) disconnect() {
	l.link.Close()
	l.mu.Lock()
	l.link = nil
	l.mu.Unlock()
}

// failAll ends calls that get no replies.
func failAll(calls []*Call, err *Error) {
	for _, c := range calls {
		c.finish(err)
	}
}

// write writes the commands of all calls.
func (k *Link) write(batch []*Call) error {
	for _, c := range batch {
		for _, cmd := range c.Commands {
			if err := k.conn.Send(cmd.Name, cmd.Args...); err != nil {
				return err
			}
		}
	}
	err := k.conn.Flush()
	if err != nil {
		return err
	}
	for _, c := range batch {
		c.written()
	}
	return nil
}

// receive reads the replies of one call. It sets moved if Redis says that this connection is of no
// use. The error is ErrReply if a reply is none to its command.
func (k *Link) receive(c *Call, moved *bool) error {
	for i := range c.Replies {
		reply, err := k.conn.Receive()
		if err == nil && !c.Commands[i].fits(reply) {
			return ErrReply
		}
		if err == nil {
			c.Replies[i] = reply
			continue
		}
		var refused redis.Error
		if !errors.As(err, &refused) {
			return err
		}
		c.Replies[i] = discreet(refused)
		*moved = *moved || Classify(refused) == Moved
	}
	return nil
}
