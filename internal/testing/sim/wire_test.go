package sim

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A conn is a connection between a client and the store, one end of it for each. What becomes of a
// piece of data is settled when it is written, since all accidents are known in advance: so no
// goroutine is needed between the two ends.
type conn struct {
	world  *world
	client int
	id     int64   // by which the store knows it
	up     *stream // commands
	down   *stream // replies
	born   time.Duration
}

// An end is one side of a conn, as a net.Conn.
type end struct {
	conn     *conn
	in, out  *stream
	deadline time.Time // of reads
	reset    bool      // Close is a reset
}

// A stream is one direction of a conn.
type stream struct {
	more chan struct{} // one slot: something has changed

	mu     sync.Mutex // guards the fields below
	pieces []piece
	last   time.Time // when the last of pieces arrives
	lost   bool      // what is written from now on goes nowhere
	closed bool      // by the reader: what is left is lost
	ended  time.Time // when the reader gets EOF; zero: not yet
}

type piece struct {
	bytes []byte
	at    time.Time // when it arrives
}

func newStream() *stream { return &stream{more: make(chan struct{}, 1)} }

func (s *stream) tell() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// push puts a piece on its way.
func (s *stream) push(b []byte, at time.Time, lost bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.ended.IsZero() {
		return io.ErrClosedPipe
	}
	if s.lost = s.lost || lost; s.lost {
		return nil
	}
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	s.pieces = append(s.pieces, piece{append([]byte(nil), b...), at})
	s.tell()
	return nil
}

func (s *stream) isLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// finish has the reader get EOF. What is on its way arrives until then, or at that time at the
// latest; what would come later is lost.
func (s *stream) finish(at time.Time, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		return
	}
	s.ended = at
	if !keep {
		s.pieces = nil
	}
	for i := range s.pieces {
		if s.pieces[i].at.After(at) {
			s.pieces[i].at = at
		}
	}
	s.tell()
}

// straggle has all that is on its way arrive at a time, and EOF after it.
func (s *stream) straggle(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		return
	}
	s.ended = at
	for i := range s.pieces {
		if s.pieces[i].at.After(time.Now()) {
			s.pieces[i].at = at
		}
	}
	s.tell()
}

// read returns what has arrived, or until when to wait for more; zero: until something changes.
func (s *stream) read(b []byte) (n int, wait time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.closed:
		return 0, wait, net.ErrClosed
	case len(s.pieces) > 0 && !s.pieces[0].at.After(now):
		p := &s.pieces[0]
		n = copy(b, p.bytes)
		if p.bytes = p.bytes[n:]; len(p.bytes) == 0 {
			s.pieces = s.pieces[1:]
		}
		return n, wait, nil
	case len(s.pieces) > 0:
		return 0, s.pieces[0].at, nil
	case !s.ended.IsZero() && !s.ended.After(now):
		return 0, wait, io.EOF
	}
	return 0, s.ended, nil
}

// Read implements net.Conn.
func (e *end) Read(b []byte) (int, error) {
	for {
		n, until, err := e.in.read(b)
		if n > 0 || err != nil {
			e.conn.world.setClock()
			return n, err
		}
		if d := e.deadline; !d.IsZero() && (until.IsZero() || d.Before(until)) {
			until = d
		}
		if !e.deadline.IsZero() && !time.Now().Before(e.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		e.in.sleep(until)
	}
}

func (s *stream) sleep(until time.Time) {
	if until.IsZero() {
		<-s.more
		return
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-s.more:
	case <-t.C:
	}
}

// Write implements net.Conn. It does not block.
func (e *end) Write(b []byte) (int, error) { return e.conn.world.transmit(e, b) }

// Close implements net.Conn. What the client has sent may be executed still.
func (e *end) Close() error {
	e.in.mu.Lock()
	e.in.closed = true
	e.in.tell()
	e.in.mu.Unlock()
	w := e.conn.world
	if at, ok := w.tailOf(e); ok {
		e.out.straggle(at)
	} else {
		e.out.finish(w.lastExecution(e.conn, e.out))
	}
	w.forget(e.conn)
	return nil
}

// The rest of net.Conn. Only reads have deadlines: writes do not block.
func (e *end) SetReadDeadline(t time.Time) error { e.deadline = t; return nil }
func (e *end) SetDeadline(t time.Time) error     { e.deadline = t; return nil }
func (e *end) SetWriteDeadline(time.Time) error  { return nil }
func (e *end) LocalAddr() net.Addr               { return address{} }
func (e *end) RemoteAddr() net.Addr              { return address{} }

type address struct{}

func (address) Network() string { return "sim" }
func (address) String() string  { return "sim" }
