package redisconn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
)

// paced is connect at the pace of the source's other dials. The caller has entered the source, so
// that Close waits for whatever comes of the dial.
func (s *Source) paced(ctx context.Context, p *pace) (*Link, error) {
	if !p.enter(ctx) {
		return nil, ErrClosed
	}
	defer p.leave()
	link, err := s.connect(ctx, p)
	// Until a connection was made once, whoever asks is told at once, as of a wrong address. A dial
	// that was given up says nothing about the server.
	if err != nil && ctx.Err() == nil && s.met.Load() {
		p.failed(false, err)
	}
	return link, err
}

// connect dials and greets. Both together have dialLimit: a server that accepts and says nothing
// must not keep the dials behind this one for ever.
func (s *Source) connect(ctx context.Context, p *pace) (*Link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	var made recorder
	conn, err := s.dial(context.WithValue(ctx, recorderKey{}, &made))
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
	s.links.Add(1) // lost takes it off again
	link := newLink(conn, p, s.lost)
	link.on(conn, made.wire(), s.dialer.Address)
	defer context.AfterFunc(ctx, link.Close)() // Close of the source ends a greeting at once
	deadline, _ := ctx.Deadline()              // of the dial and the greeting together
	if err := s.greet(link, time.Until(deadline)); err != nil {
		link.Close()
		return nil, link.first(err)
	}
	link.settle()
	s.met.Store(true)
	return link, nil
}

// dial calls the dialer, and comes back when ctx ends whatever the dialer does: it may take no
// context. A connection that comes later is closed.
func (s *Source) dial(ctx context.Context) (redis.Conn, error) {
	type dialled struct {
		conn redis.Conn
		err  error
	}
	result := make(chan dialled) // no room: what is not taken here, the goroutine closes
	s.open.Add(1)                // never from zero beside Wait: the caller is counted, too
	// Owned by the source; ends with the dialer. Close waits for it, at most for its limit.
	go func() {
		defer s.open.Done()
		conn, err := s.dialer.Dial.call(ctx)
		select {
		case result <- dialled{conn, err}:
		case <-ctx.Done(): // nobody takes the connection, so it is still ours
			if conn != nil {
				_ = guarded{conn}.close()
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

// greet makes the link ready for use, and ends what its predecessors left under way. The link
// serves nobody before: what is sent on it must come after what they sent. The link's own session
// is entered first, so that the link becomes an orphan itself if the kills are not answered.
func (s *Source) greet(link *Link, limit time.Duration) error {
	known, err := greet(link, s.dialer.Greeting, s.name, limit)
	if err != nil {
		return err
	}
	s.orphans.enter(&link.entry, known)
	return killOrphans(link, &s.orphans, limit-link.greeted)
}

// lost takes note that a link was closed, before its Close returns. Nobody reaps after Close.
func (s *Source) lost(link *Link) {
	s.links.Add(-1)
	if s.orphans.leave(&link.entry, link.inFlight.Load()) && s.enter() {
		// Owned by the source; ends when no orphan matters any more, or with Close, which waits.
		go func() {
			defer s.open.Done()
			s.orphans.reap(s.ctx, s.succeed)
		}()
	}
}

// succeed makes a connection only for its greeting, which ends the orphans.
func (s *Source) succeed() {
	if link, err := s.paced(s.ctx, s.waits); err == nil { // else the reaper tries again
		link.Close()
	}
}
