package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A Source dials connections for one client, and remembers whether it ever reached Redis.
type Source struct {
	dialer Dialer
	name   string          // told to Redis by CLIENT SETNAME where that is allowed; "" for none
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	met    atomic.Bool  // a connection was made once
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
	s.lines, s.waits = newPace(), newPace(make(chan struct{}, 1))
	return s
}

// Met reports whether a connection was made once.
func (s *Source) Met() bool { return s.met.Load() }

// Links returns how many connections are open.
func (s *Source) Links() int { return int(s.links.Load()) }

// Close cancels the dials under way and waits for them, at most for the limit: a dialer that takes
// no context cannot be hurried. Such a late connection is closed when it comes. Later dials fail
// with [ErrClosed].
func (s *Source) Close(limit time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	done := make(chan struct{})
	go func() { // ends with the last dial
		s.open.Wait()
		close(done)
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// enter counts a dial. It returns false if the source is closed.
func (s *Source) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open.Add(1)
	}
	return !s.closed
}

// paced is connect at the pace of the source's other dials.
func (s *Source) paced(ctx context.Context, p *pace) (*Link, error) {
	if !p.enter(ctx) {
		return nil, ErrClosed
	}
	defer p.leave()
	link, err := s.connect(ctx, p)
	// Until a connection was made once, whoever asks is told at once.
	if err != nil && ctx.Err() == nil && s.met.Load() {
		p.notDialled(err)
	}
	return link, err
}

// connect dials and greets.
func (s *Source) connect(ctx context.Context, p *pace) (*Link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	var made recorder
	conn, err := s.dial(withRecorder(ctx, &made))
	if err == nil && conn == nil {
		err = errors.New("the pool's dialer returned no connection and no error")
	}
	if err != nil && ctx.Err() == context.DeadlineExceeded && !errors.Is(err, ErrTimeout) {
		// It is our limit that has passed, and no context of the user's.
		err = fmt.Errorf("dialling: %w (%v)", ErrTimeout, dialLimit)
	}
	if err != nil {
		return nil, at(s.dialer.Address, discreet(err))
	}
	link := newLink(conn, s, p)
	link.on(conn, made.wire(), s.dialer.Address)
	stop := context.AfterFunc(ctx, link.Close)
	defer stop()
	deadline, _ := ctx.Deadline()
	if err := s.greet(link, time.Until(deadline)); err != nil {
		link.Close()
		return nil, link.first(err)
	}
	link.settle()
	s.met.Store(true)
	return link, nil
}

// dial calls the dialer, and comes back when ctx ends whatever the dialer does: it may take no context.
// A connection that comes later is closed.
func (s *Source) dial(ctx context.Context) (redis.Conn, error) {
	type dialled struct {
		conn redis.Conn
		err  error
	}
	result := make(chan dialled)
	s.open.Add(1) // the dial that called is counted, so that this is no first one beside Wait
	// Owned by the source; ends with the dialer. Close waits for it, at most for its limit.
	go func() {
		defer s.open.Done()
		conn, err := s.dialer.Dial.call(ctx)
		select {
		case result <- dialled{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				_ = guarded{conn}.Close()
			}
		}
	}()
	select {
	case d := <-result:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
