// Package inmemory is a Redis inside the process, reached without a network. It is miniredis with
// its clock running, in-memory connections, and what a network can do to these. The packages
// embedded and locktest are made of it. It knows no locks.
package inmemory

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"
)

// Miniredis returns an empty server whose keys expire as time goes by, on no port yet: for programs
// that want one on a port.
func Miniredis() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	return m
}

// A Server is a Redis without a port. Its methods may be called from any goroutine. It has
// goroutines only while it has connections: it need not be closed once its clients are. Make one
// with [New].
type Server struct {
	redis *miniredis.Miniredis
	late  *lateness      // of replies
	pumps sync.WaitGroup // goroutines of wires and calls of Eval: grows under mu, not once closed
	began time.Time      // when it was made

	mu     sync.Mutex // guards the fields below
	wires  map[*wire]struct{}
	down   bool
	closed bool
}

// New returns an empty server.
func New() *Server {
	return &Server{
		redis: Miniredis(),
		late:  newLateness(),
		began: time.Now(),
		wires: make(map[*wire]struct{}),
	}
}

// Pool returns a new pool of connections to the server.
func (s *Server) Pool() *redis.Pool {
	return &redis.Pool{MaxIdle: 4, Dial: func() (redis.Conn, error) {
		conn, err := s.dial()
		if err != nil {
			return nil, err
		}
		return inner{redis.NewConn(conn, 0, 0).(capable)}, nil
	}}
}

// An inner connection tells clients that nothing closes it because it was idle.
type inner struct{ capable }

// InProcess tells so.
func (inner) InProcess() {}

// capable is all that redigo's connections can do.
type capable interface {
	redis.ConnWithTimeout
	redis.ConnWithContext
}

var (
	errDown   = errors.New("embedded Redis: the server is down")
	errClosed = errors.New("embedded Redis: the server was closed")
	errBubble = errors.New("embedded Redis: the server was started outside this synctest bubble:" +
		" start it inside")
)

// Usable returns an error if the server is used in a synctest bubble that it was not made in. The
// runtime would end the process with a nil pointer, when Close waits for goroutines of the bubble.
// A bubble's clock begins in the year 2000, which is long before a server outside was made.
func (s *Server) Usable() error {
	const year = 365 * 24 * time.Hour
	if time.Now().Round(0).Before(s.began.Round(0).Add(-year)) {
		return errBubble
	}
	return nil
}

// dial connects a client. All of it is under the mutex, so that Down and Close see each wire, or
// none is made.
func (s *Server) dial() (net.Conn, error) {
	if err := s.Usable(); err != nil {
		return nil, err
	}
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
	w := newWire(far, inner, s.late, s.forget)
	s.wires[w] = struct{}{}
	// Owned by the server, which waits for them in Close. They end when the wire is closed: by
	// either end, by Down or by Close.
	s.pumps.Go(w.send)
	s.pumps.Go(w.receive)
	s.pumps.Go(w.deliver)
	return near, nil
}

// Delay makes every reply come so much late, until another delay is set. 0 ends the delay and
// delivers what was held back. Commands are executed at once.
func (s *Server) Delay(d time.Duration) { s.late.set(max(d, 0)) }

// Down breaks all connections and refuses new ones, until Up. The server keeps its memory.
//
// The wires are closed when the mutex is free, since each calls forget, which takes it. None is
// made meanwhile: dial refuses by then.
func (s *Server) Down() {
	s.mu.Lock()
	s.down = true
	wires := s.wiresLocked()
	s.mu.Unlock()
	cut(wires)
}

// Up ends Down.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// Delete deletes a key, past all faults.
func (s *Server) Delete(key string) { s.redis.Del(key) }

// Eval runs a script, past all faults. On a closed server it does nothing.
func (s *Server) Eval(script string, keys []string, args ...any) error {
	if err := s.Usable(); err != nil {
		return err
	}
	if !s.enter() {
		return nil
	}
	defer s.pumps.Done()
	conn, err := s.redis.Dial()
	if err != nil {
		return err
	}
	c := redis.NewConn(conn, 0, 0)
	defer c.Close()
	_, err = c.Do("EVAL", redis.Args{script, len(keys)}.AddFlat(keys).Add(args...)...)
	return err
}

// enter lets Close wait for whoever it returns true to, and who calls pumps.Done at the end. The
// mutex decides who was first, this call or Close.
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

// cut closes connections. The mutex must be free.
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

// Close breaks all connections for good. After it no goroutine of the server is left.
//
// Nothing is added to pumps once closed is set under the mutex, so to wait for them is safe. The
// Redis is closed last: the wires that end, and an Eval under way, use it.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	wires := s.wiresLocked()
	s.mu.Unlock()
	cut(wires)
	s.pumps.Wait()
	s.redis.Close()
}
