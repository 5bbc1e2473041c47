package redisconn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Source dials connections for one client, and remembers whether it ever reached Redis.
type Source struct {
	dialer Dialer
	name   string          // told to Redis by CLIENT SETNAME where that is allowed; "" for none
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	met    atomic.Bool  // a connection was made once: from then on failures may pass
	links  atomic.Int64 // that are open

	orphans orphans
	lines   *pace // of dials for lines
	waits   *pace // of dials for connections that wait, which must not keep lines from dialling

	mu     sync.Mutex     // guards the fields below
	open   sync.WaitGroup // dials under way; grows under mu only, and not once closed
	closed bool
}

// NewSource returns a source that dials with dialer and names its connections.
func NewSource(dialer Dialer, name string) *Source {
	s := &Source{dialer: dialer, name: name}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	// A line dials whenever it needs to: a renewal must not wait for the dials of others. Of the
	// connections that wait, of which there may be many, one dials at a time.
	s.lines, s.waits = newPace(nil), newPace(make(chan struct{}, 1))
	return s
}

// Met reports whether a connection was made once.
func (s *Source) Met() bool { return s.met.Load() }

// Links returns how many connections are open.
func (s *Source) Links() int { return int(s.links.Load()) }

// Close cancels the dials under way and waits for them, at most for the limit: a dialer that takes
// no context cannot be hurried. The connection of such a dial is closed when it comes. Later dials
// fail with [ErrClosed]. The links that are open remain so: each belongs to its owner.
func (s *Source) Close(limit time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	ctx, done := context.WithTimeout(context.Background(), limit)
	go func() { // ends with the last dial
		s.open.Wait()
		done()
	}()
	<-ctx.Done()
}

// enter counts a dial. It returns false if the source is closed. A WaitGroup must not grow from
// zero beside Wait, and does not: Close has set closed, under the same mutex, before it waits.
func (s *Source) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open.Add(1)
	}
	return !s.closed
}
