package locktest

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// T is what this package needs of a test: every *testing.T, *testing.B and *testing.F has it.
type T interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// A Server is a Redis inside the test. Its methods may be called from any goroutine, except those
// that end the test when they are misused, which are for the test's own; what they do has happened
// when they return. Make one with [Start].
type Server struct {
	// Prefix is the lock.Options.Prefix of the locks that Expire and Steal are for.
	Prefix string

	t     T
	redis *miniredis.Miniredis
	pumps sync.WaitGroup // goroutines of wires, and calls of eval; grows under mu, not once closed

	mu      sync.Mutex // guards the fields below
	wires   map[*wire]struct{}
	delay   time.Duration
	changed chan struct{} // closed, and made anew, when delay is set
	down    bool
	closed  bool
}

// Client returns a client, with the default options, of a server of its own. Both are closed at the
// end of the test.
func Client(t T) *lock.Client {
	t.Helper()
	return Start(t).Client(t, nil)
}

// Start runs a server until the end of the test. In a synctest bubble start it inside.
func Start(t T) *Server {
	s := &Server{
		t:       t,
		redis:   miniredis.NewMiniRedis(),
		wires:   make(map[*wire]struct{}),
		changed: make(chan struct{}),
	}
	s.redis.ClockTTL(true)
	t.Cleanup(s.close)
	return s
}

// Client returns a client of the server that is closed at the end of the test; nil options are ready
// for use. Two clients contend as two hosts do; give them labels to tell them apart. A delay ends
// before the client is closed; with leases that are still held closing takes as long as their margin.
func (s *Server) Client(t T, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.New(s.Pool(), o)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	t.Cleanup(func() {
		s.Delay(0)
		_ = c.Close() // always nil
	})
	return c
}

// Pool returns a new pool of connections to the server, for programs that make their clients
// themselves, with lock.New, and for what else a test wants of Redis. It is the caller's to close.
func (s *Server) Pool() *redis.Pool {
	return &redis.Pool{MaxIdle: 4, Dial: func() (redis.Conn, error) {
		conn, err := s.dial()
		if err != nil {
			return nil, err
		}
		return redis.NewConn(conn, 0, 0), nil
	}}
}

var (
	errDown   = errors.New("locktest: the server is down")
	errClosed = errors.New("locktest: the test has ended")
)

// dial connects a client.
func (s *Server) dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.down:
		return nil, errDown
	}
	inner, err := s.redis.Dial()
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	w := newWire(s, far, inner)
	s.wires[w] = struct{}{}
	s.pumps.Add(3)
	go w.send()    // this and the next two: owned by the server, which waits for them in close;
	go w.receive() // they end when the wire is closed, by either end, by Down, or
	go w.deliver() // by the server's close
	return near, nil
}

// enter lets close wait for whoever it returns true to, and who calls pumps.Done at the end.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.pumps.Add(1)
	}
	return !s.closed
}

// forget is told that a wire was closed.
func (s *Server) forget(w *wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.wires, w)
}

// cut closes connections; the mutex must be free.
func cut(wires []*wire) {
	for _, w := range wires {
		w.close()
	}
}

// wiresLocked returns the connections that there are.
func (s *Server) wiresLocked() []*wire {
	all := make([]*wire, 0, len(s.wires))
	for w := range s.wires {
		all = append(all, w)
	}
	return all
}

// close ends the server.
func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	wires := s.wiresLocked()
	s.mu.Unlock()
	cut(wires)
	s.pumps.Wait()
	s.redis.Close()
}
