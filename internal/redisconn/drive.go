package redisconn

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// slowest is how many times longer than a greeting an exchange may take.
const slowest = 4

// errBehind is the error of a call that had too little time left to be sent.
var errBehind = fmt.Errorf("%w: the connection, or others, took too long", ErrTimeout)

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

// driveFor drives for a caller until its call has ended, and hands what came meanwhile to the goroutine.
// The call is the first in the queue. One batch is enough for it, unless a dial failed that it can wait
// to be repeated.
func (l *Line) driveFor(c *Call) {
	for !l.ended(c) {
		l.drive(false)
	}
	l.more(true)
}

// ended reports whether a call's fate, which the caller decides as the driver, is decided.
func (l *Line) ended(c *Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.state != waiting
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
	if !l.connect() {
		return
	}
	taken, batch := l.take()
	if len(batch) > 0 {
		l.exchange(batch, feed)
	}
	clear(taken)
	l.spare = taken[:0]
}

// connect dials if there is no connection that can be used, and reports whether there is one. The calls
// stay in the queue meanwhile: they have not begun, and can be abandoned. It waits for the dial until the
// first call's time is up; the dial goes on for the others, and for those who come.
func (l *Line) connect() bool {
	if l.link != nil {
		if l.usable() {
			return true
		}
		l.disconnect() // nothing was sent, so nothing is lost
	}
	until, ok := l.first()
	if !ok {
		return false
	}
	link, err := l.port.dial(time.Until(until), l.stop)
	if err != nil {
		l.notConnected(err)
		return false
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.link = link
	}
	l.mu.Unlock()
	switch {
	case closed:
		link.Close() // Close came before it could see this one
		l.notConnected(ErrClosed)
		return false
	case !l.usable(): // it may have come long ago, when nobody waited for it any more
		link.pace.failed(false)
		l.disconnect()
		return false
	}
	return true
}

// usable reports whether the connection, on which nothing is under way, can be used. Where that cannot
// be seen, and it was idle, it is asked on behalf of calls that are sent once only.
func (l *Line) usable() bool {
	if !l.link.blind() {
		return l.link.stale() == nil
	}
	until, ok := l.first()
	return !ok || !l.once() || l.link.ping(time.Until(until)/2) == nil
}

// once reports whether a call in the queue is sent once only.
func (l *Line) once() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.queue, func(c *Call) bool { return c.Once && c.state != abandoned })
}

// first removes abandoned calls from the front of the queue. It returns when the first one behind them
// is given up; ok is false if there is none.
func (l *Line) first() (until time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && l.queue[n].state == abandoned {
		n++
	}
	l.queue = slices.Delete(l.queue, 0, n)
	if len(l.queue) == 0 {
		return time.Time{}, false
	}
	return l.queue[0].by, true
}

// notConnected fails calls for which there is no connection: all of them, or those whose time is up if
// all that is known is that it takes long.
func (l *Line) notConnected(err error) {
	now := time.Now()
	slow := l.port.slow(err)
	var failed []*Call
	l.mu.Lock()
	l.queue = slices.DeleteFunc(l.queue, func(c *Call) bool {
		if c.state != abandoned && !(slow && c.by.After(now)) {
			c.state = begun
			failed = append(failed, c)
		}
		return c.state != waiting
	})
	l.mu.Unlock()
	failAll(failed, &Error{Err: err})
}

// take removes calls from the queue, and returns of them the batch that is to be written. Those whose
// callers left are not in it, nor those that are not worth sending.
func (l *Line) take() (taken, batch []*Call) {
	needs, why := slowest*l.link.greeted, errBehind
	now := time.Now()
	var failed []*Call
	l.mu.Lock()
	if l.closed {
		why = ErrClosed
	}
	taken = l.cutLocked()
	batch = taken[:0]
	for _, c := range taken {
		switch {
		case c.state == abandoned:
			continue
		case l.closed, c.stale(now, needs):
			failed = append(failed, c)
		default:
			c.Sent = now
			batch = append(batch, c)
		}
		c.state = begun
	}
	l.mu.Unlock()
	failAll(failed, &Error{Err: why})
	return taken, batch
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

// feedEvery is after how many replies the line looks for more to send. Redis works on that while
// the rest of the replies are handed out, instead of waiting for the last of them.
const feedEvery = 16

// exchange sends the batch and hands out the replies.
func (l *Line) exchange(batch []*Call, feed bool) {
	f := flight{link: l.link}
	err := f.begin(batch)
	// Callers who were woken together with the first one need not wait for its reply.
	for n := 0; feed && err == nil && n < len(f.calls) && f.open(); {
		n = len(f.calls)
		err = l.feed(&f)
	}
	for n := 1; err == nil && len(f.calls) > 0; n++ {
		err = f.next()
		if err == nil && feed && n%feedEvery == 0 && f.open() {
			err = l.feed(&f)
		}
	}
	l.settle(&f, err)
}

// feed sends what has come into the queue behind the calls that are in flight.
func (l *Line) feed(f *flight) error {
	runtime.Gosched() // those who got their replies may ask for more
	taken, more := l.take()
	err := f.add(more)
	clear(taken)
	l.spare = taken[:0]
	return err
}

// settle ends an exchange, and the calls that it left without an answer.
func (l *Line) settle(f *flight, err error) {
	err = f.end(err)
	l.link.report(err, f.moved)
	if err != nil || f.moved {
		l.disconnect() // before anything is sent again, by whom ever
	}
	if len(f.calls) > 0 && l.isClosed() {
		err = ErrClosed
	}
	f.fail(err)
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
