package redisconn

import (
	"runtime"
	"time"
)

// slowest is how many times longer than a greeting an exchange may take.
const slowest = 4

// feedEvery is after how many replies the driver looks for more to send. Redis works on that while
// the rest of the replies are handed out, instead of waiting for the last of them.
const feedEvery = 16

// A driver is what drives a line's queue: its connection, and where the connection comes from. Its
// methods are for whoever has the drive, and so run one at a time.
type driver struct {
	queue

	port *Port
	stop chan struct{} // closed with closed, to end a dial
	// link is nil while the line is not connected. Only the driver changes it, under mu, and reads
	// it without mu. Close reads it under mu, to end the exchange under way.
	link *Link
}

// drive sends one batch and hands out its replies. With feed it goes on with what comes meanwhile:
// that is for the line's goroutine. A caller who drives must come back to its own work.
func (d *driver) drive(feed bool) {
	if !d.connect() {
		return
	}
	taken, batch := d.take(slowest * d.link.greeted)
	if len(batch) > 0 { // all callers may have left during the dial
		d.exchange(batch, feed)
	}
	d.recycle(taken)
}

// connect dials if there is no connection that can be used, and reports whether there is one. The
// calls stay in the queue meanwhile: they have not begun, and can be abandoned. The driver waits
// until the first call's time is up. The dial goes on for the others, and for those who come.
func (d *driver) connect() bool {
	if d.link != nil {
		if d.usable() {
			return true
		}
		d.disconnect() // nothing was sent, so nothing is lost
	}
	until, ok := d.first()
	if !ok {
		return false
	}
	link, err := d.port.dial(time.Until(until), d.stop)
	if err != nil {
		d.notConnected(err)
		return false
	}
	return d.adopt(link)
}

// adopt makes a new connection the line's, and reports whether it can be used. If Close came first,
// it did not see the connection, which is closed here. If Close comes later, it does.
func (d *driver) adopt(link *Link) bool {
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.link = link
	}
	d.mu.Unlock()
	switch {
	case closed: // nobody else knows the link
		link.Close()
		d.notConnected(ErrClosed)
		return false
	case !d.usable(): // it may have come long ago, when nobody waited for it any more
		link.pace.failed(false, nil)
		d.disconnect()
		return false
	}
	return true
}

// usable reports whether the connection, on which nothing is under way, can be used. Where a look
// cannot tell, and the connection was idle, it is asked if a call is sent once only.
func (d *driver) usable() bool {
	if !d.link.blind() {
		return d.link.stale() == nil
	}
	until, ok := d.first()
	return !ok || !d.once() || d.link.ping(time.Until(until)/2) == nil
}

// notConnected fails calls for which there is no connection: all of them, or those whose time is up
// if all that is known is that the dial takes long.
func (d *driver) notConnected(err error) { d.fail(err, d.port.slow(err)) }

// disconnect gives the connection up. When it returns, the source knows what was under way.
func (d *driver) disconnect() {
	d.link.Close()
	d.mu.Lock()
	d.link = nil
	d.mu.Unlock()
}

// exchange sends the batch and hands out the replies.
func (d *driver) exchange(batch []*Call, feed bool) {
	f := flight{link: d.link}
	err := f.begin(batch)
	// Callers who were woken together with the first one need not wait for its reply: as long as
	// each look finds more, they go out before any reply is read.
	for n := 0; feed && err == nil && n < len(f.calls) && f.open(); {
		n = len(f.calls)
		err = d.feed(&f)
	}
	for n := 1; err == nil && len(f.calls) > 0; n++ {
		err = f.next()
		if err == nil && feed && n%feedEvery == 0 && f.open() {
			err = d.feed(&f)
		}
	}
	d.settle(&f, err)
}

// feed sends what has come into the queue behind the calls that are in flight.
func (d *driver) feed(f *flight) error {
	runtime.Gosched() // those who got their replies may ask for more
	taken, more := d.take(slowest * d.link.greeted)
	err := f.add(more)
	d.recycle(taken)
	return err
}

// settle ends an exchange, and the calls that it left without an answer. The connection is given up
// before they end: what their callers send again must go out behind the kill of the old connection.
func (d *driver) settle(f *flight, err error) {
	err = f.end(err)
	d.link.report(err, f.moved)
	if err != nil || f.moved {
		d.disconnect()
	}
	if len(f.calls) > 0 && over(d.stop) {
		err = ErrClosed // which is why the exchange has failed
	}
	f.fail(err)
}
