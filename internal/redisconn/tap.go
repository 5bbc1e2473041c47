package redisconn

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// A tap is the socket of a wire, below TLS. A tap can be read without blocking, and be reset.
type tap struct {
	net.Conn
	raw  syscall.RawConn // nil: this socket, or this system, cannot be read without blocking
	read nowait          // the reader's

	peeking bool        // the reader's: Read does not block, also where TLS calls it
	written atomic.Bool // something was, since the wire's last forget
}

// newTap returns a tap on a socket.
func newTap(socket net.Conn) *tap {
	t := &tap{Conn: socket}
	if s, ok := socket.(syscall.Conn); ok && canPeek {
		if raw, err := s.SyscallConn(); err == nil {
			t.raw = raw
			t.read.init()
		}
	}
	return t
}

// Read reads from the socket. While peeking it does not block: if nothing is there, the error is
// nothingThere.
func (t *tap) Read(p []byte) (int, error) {
	switch {
	case !t.peeking:
		return t.Conn.Read(p)
	case t.raw == nil:
		return t.readBriefly(p)
	}
	n, err := t.read.from(t.raw, p)
	if n == 0 && err == nil { // as the kernel tells the end
		return 0, io.EOF
	}
	return max(n, 0), err
}

// brief is how long a read may take that should not block, where that is not to be had.
const brief = time.Millisecond

// readBriefly reads what is there, or comes within a moment.
func (t *tap) readBriefly(p []byte) (int, error) {
	if err := t.SetReadDeadline(time.Now().Add(brief)); err != nil { // the next read sets its own
		return 0, err
	}
	n, err := t.Conn.Read(p)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		err = nothingThere{}
	}
	return n, err
}

// Write writes to the socket.
func (t *tap) Write(p []byte) (int, error) {
	t.written.Store(true)
	return t.Conn.Write(p)
}

// reset ends the connection so that nothing that was written arrives any more. An orderly end would
// leave the kernel sending for as long as the network was cut. A unix socket has no such tail.
func (t *tap) reset() {
	if s, ok := t.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = s.SetLinger(0)
	}
	_ = t.Close()
}
