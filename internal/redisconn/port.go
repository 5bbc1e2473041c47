package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// A Port dials for one owner: one dial at a time, however often the owner loses patience. A dial
// has its own limit, dialLimit. Its connection is kept for the owner's next call. Its error is for
// whoever waits at that moment, and nobody else. One goroutine uses a port at a time.
//
// Were a dial given up with its owner's patience, a server that takes longer to greet than the
// owner can wait would never be reached.
type Port struct {
	source  *Source
	pace    *pace
	pending *dialling // the dial under way, or the connection that nobody has taken; nil: neither
}

// A dialling is a dial under way and the goroutine that does it.
type dialling struct {
	cancel context.CancelFunc // nobody wants its connection any more
	// result has no room: until the owner takes the connection, the goroutine has it, and closes it
	// when it is not wanted any more.
	result chan *Link
	failed chan struct{} // closed when err is set
	err    error
}

// NewPort returns a port of s for a connection that waits.
func (s *Source) NewPort() *Port { return &Port{source: s, pace: s.waits} }

// newLinePort returns a port of s for a line.
func (s *Source) newLinePort() *Port { return &Port{source: s, pace: s.lines} }

// Dial returns a new connection. It blocks at most for the limit. A dial that takes longer goes on,
// and the next call takes its connection. The errors are [ErrTimeout], [ErrClosed] or the dial's.
func (p *Port) Dial(limit time.Duration) (*Link, error) { return p.dial(limit, nil) }

// dial is Dial that also ends, with [ErrClosed], when stop is closed.
func (p *Port) dial(limit time.Duration, stop <-chan struct{}) (*Link, error) {
	if p.pending != nil && over(p.pending.failed) {
		p.pending = nil // it failed when nobody waited: that says nothing about now
	}
	if p.pending == nil && !p.begin() {
		return nil, ErrClosed
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	// Only what ends the dial takes it from pending. After the other cases the goroutine goes on,
	// and has the connection for the next call, or until Hangup.
	select {
	case link := <-p.pending.result:
		p.pending = nil
		return link, nil
	case <-p.pending.failed:
		err := p.pending.err
		p.pending = nil
		return nil, err
	case <-stop:
		return nil, ErrClosed
	case <-p.source.ctx.Done():
		return nil, ErrClosed
	case <-t.C:
		return nil, p.late(limit)
	}
}

// late returns the error of a dial that takes longer than its owner can wait, with where it leads,
// and how the last attempt failed: there may have been a pause all the time.
func (p *Port) late(limit time.Duration) error {
	err := fmt.Errorf("dialling: %w (%v)", ErrTimeout, limit.Round(time.Millisecond))
	if last := p.pace.last(); last != nil {
		err = fmt.Errorf("%w; the last attempt: %v", err, last)
	}
	err = at(p.source.dialer.Address, err)
	if p.source.dialer.TLS {
		err = hinted(err, speaksTLS)
	}
	return err
}

// slow reports whether all that an error of Dial says is that it takes long. Then those who can
// wait longer go on waiting. Until a connection was made once, the time limit of a dialer of the
// user's is an answer for all who ask.
func (p *Port) slow(err error) bool {
	var timeout net.Error
	return errors.Is(err, ErrTimeout) ||
		p.source.Met() && errors.As(err, &timeout) && timeout.Timeout()
}

// begin starts a dial. It returns false if the source is closed.
func (p *Port) begin() bool {
	s := p.source
	if !s.enter() {
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	d := &dialling{cancel: cancel, result: make(chan *Link), failed: make(chan struct{})}
	p.pending = d
	// Owned by the port; ends when the dial fails, the port takes its connection or hangs up, or
	// the source is closed. Source.Close waits for it.
	go s.run(ctx, p.pace, d)
	return true
}

// Hangup gives up a dial under way: its connection is closed when it comes.
func (p *Port) Hangup() {
	if p.pending != nil {
		p.pending.cancel()
		p.pending = nil
	}
}

// run dials, and keeps the connection until it is taken or not wanted. Source.Close closes it that
// way, too: ctx is one of the source's.
func (s *Source) run(ctx context.Context, p *pace, d *dialling) {
	defer s.open.Done()
	defer d.cancel()
	link, err := s.paced(ctx, p)
	if err != nil {
		d.err = err
		close(d.failed)
		return
	}
	select {
	case d.result <- link:
	case <-ctx.Done():
		link.Close()
	}
}

// over reports whether a channel is closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
