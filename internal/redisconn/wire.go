package redisconn

import (
	"errors"
	"net"
)

// A Wire is a connection to Redis as redigo sees it, above TLS. A wire hands out at most one reply
// for each Read, so that redigo never reads ahead: what is left in the wire when every reply was
// read is one too many. A reply is handed out when all of it is there, and never if it is beyond
// the limits. One goroutine reads and one writes at a time. Close and Reset may come any time.
type Wire struct {
	net.Conn      // the socket, or TLS over it
	tap      *tap // the socket

	address string
	tls     bool
	begun   bool // the writer's: something was written

	// The reader's:
	buf     []byte // what was read from Conn
	start   int    // of what was not handed out yet
	ready   int    // bytes from start on that are one whole reply, or the rest of one
	frame   framer // of the reply that begins at start, if ready is 0
	failure error  // nothing can be read any more
}

const (
	leastBuffer = 4 << 10  // what there is room for in every read
	keepBuffer  = 64 << 10 // a larger buffer is not kept
)

// newWire returns a wire over conn, which is t itself or TLS over it.
func newWire(conn net.Conn, t *tap, address string) *Wire {
	return &Wire{Conn: conn, tap: t, address: address, tls: conn != net.Conn(t)}
}

// Read reads from one reply.
func (w *Wire) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.await(); err != nil {
		return 0, err
	}
	n := copy(p, w.buf[w.start:w.start+w.ready])
	w.start += n
	w.ready -= n
	return n, nil
}

// await reads until a whole reply is in the buffer.
func (w *Wire) await() error {
	for w.ready == 0 {
		if w.failure != nil {
			return w.failure
		}
		if w.start < len(w.buf) {
			if w.ready, w.failure = w.frame.find(w.buf[w.start:]); w.ready != 0 || w.failure != nil {
				continue
			}
		}
		if err := w.fill(); err != nil {
			return err
		}
	}
	return nil
}

// fill reads what there is into the buffer, which grows only as replies arrive.
func (w *Wire) fill() error {
	switch {
	case w.start == len(w.buf) && cap(w.buf) <= keepBuffer:
		w.buf, w.start = w.buf[:0], 0
	case w.start == len(w.buf):
		w.buf, w.start = nil, 0
	}
	if cap(w.buf)-len(w.buf) < leastBuffer {
		grown := make([]byte, len(w.buf)-w.start, max(2*(len(w.buf)-w.start), 2*leastBuffer))
		copy(grown, w.buf[w.start:])
		w.buf, w.start = grown, 0
	}
	n, err := w.Conn.Read(w.buf[len(w.buf):cap(w.buf)]) // not more than there is room for
	w.buf = w.buf[:len(w.buf)+n]
	if n > 0 {
		return nil // the error comes again
	}
	return err
}

// errTLSAbove is the error of a TLS handshake over a wire.
var errTLSAbove = errors.New("a TLS handshake over a connection of lock.NetDial:" +
	" give the TLS configuration to lock.NetDial, and dial a redis:// URL without DialUseTLS")

// Write writes commands.
func (w *Wire) Write(p []byte) (int, error) {
	if !w.begun && len(p) > 0 && p[0] == 0x16 { // no command of redigo's begins so
		return 0, errTLSAbove
	}
	w.begun = true
	return w.Conn.Write(p)
}

// surplus reports whether more was read than asked for, when every reply that is due was handed
// out.
func (w *Wire) surplus() bool { return w.start < len(w.buf) }

var (
	errStray = errors.New("a reply came that nobody asked for")
	errGone  = errors.New("the other side closed the connection while it was idle")
)

// look returns an error if the connection, on which no reply is due, cannot be used any more. It
// does not block.
func (w *Wire) look() error {
	if w.failure != nil {
		return w.failure
	}
	if w.surplus() {
		return errStray
	}
	w.tap.peeking = true // no Read is under way: the reader is here
	err := w.fill()
	w.tap.peeking = false
	switch {
	case err == nil:
		return errStray
	case errors.Is(err, nothingThere{}): // so it is silent, and alive as far as the kernel knows
		return nil
	}
	return errGone
}

// silent reports whether look must not be called often, since it takes a moment.
func (w *Wire) silent() bool { return w.tap.raw == nil }

// Reset ends the connection so that nothing that was written arrives any more.
func (w *Wire) Reset() { w.tap.reset() }

// forget is called when a dial is over: only what is written from now on counts for used.
func (w *Wire) forget() { w.tap.written.Store(false) }

// used reports whether something was written since forget. If nothing was, the wire is not the one
// below the connection: a dialer may reach several servers until it has found the right one.
func (w *Wire) used() bool { return w.tap.written.Load() }
