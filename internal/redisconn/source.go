package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A DialFunc opens a connection.
type DialFunc func(ctx context.Context) (redis.Conn, error)

// A Dialer is how one server is reached.
type Dialer struct {
	Dial     DialFunc
	Greeting []Command // what a new connection needs before it can be used: AUTH, SELECT
	Address  string    // "redis at host:port", for errors; "" if it is not known
}

// PoolDialer returns how pool dials, without using its slots. The pool's Dial takes no context. What
// the pool dials is ready for use: authenticated, the database selected.
func PoolDialer(pool *redis.Pool) (Dialer, error) {
	switch {
	case pool == nil:
		return Dialer{}, errors.New("the pool is nil: give a *redis.Pool with Dial or DialContext set")
	case pool.DialContext != nil:
		return Dialer{Dial: pool.DialContext}, nil
	case pool.Dial != nil:
		return Dialer{Dial: func(context.Context) (redis.Conn, error) { return pool.Dial() }}, nil
	}
	return Dialer{}, errors.New("the pool has neither Dial nor DialContext: set one of them")
}

// Connect opens a connection and makes it ready for use. It blocks until ctx ends at most.
func (d Dialer) Connect(ctx context.Context) (redis.Conn, error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	for _, cmd := range d.Greeting {
		if _, err := redis.DoContext(conn, ctx, cmd.Name, cmd.Args...); err != nil {
			_ = conn.Close()
			return nil, discreet(err)
		}
	}
	return conn, nil
}

// A Source dials connections for one client, and remembers whether it ever reached Redis.
type Source struct {
	dialer Dialer
	name   string          // told to Redis by CLIENT SETNAME where that is allowed; "" for none
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	met    atomic.Bool  // a connection was made once
	links  atomic.Int64 // that are open

	orphans orphans

	mu     sync.Mutex     // guards the fields below
	open   sync.WaitGroup // dials under way; grows under mu only, and not once closed
	closed bool
}

// NewSource returns a source that dials with dialer and names its connections.
func NewSource(dialer Dialer, name string) *Source {
	s := &Source{dialer: dialer, name: name}
	s.ctx, s.cancel = context.WithCancel(context.Background())
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

// A Port dials for one owner: at most one dial at a time, however often the owner loses patience.
// It is used by one goroutine at a time.
type Port struct {
	source  *Source
	pending *dialling // the dial under way, if any
}

// A dialling is a dial under way and the goroutine that does it.
type dialling struct {
	since  time.Time
	give   time.Duration      // how long it may take
	cancel context.CancelFunc // nobody wants its connection any more
	// result has no room: until the owner takes the connection, the goroutine has it, and closes it
	// when it is not wanted any more.
	result chan dialled
}

type dialled struct {
	link *Link
	err  error
}

const (
	// leastDial is how long a dial may take, whatever its owner's patience: with a handshake it takes
	// longer than the exchange for which it is made.
	leastDial = 2 * time.Second
	// stuck is how many times that a dial may take before it is given up for another one: a dialer
	// without a context and without a time limit of its own can hang on a dead network for very long.
	stuck = 5
)

// NewPort returns a port of s.
func (s *Source) NewPort() *Port { return &Port{source: s} }

// Dial returns a new connection. It blocks at most for the limit; a dial that takes longer goes on,
// and the next call takes its result.
func (p *Port) Dial(limit time.Duration) (*Link, error) { return p.dial(limit, nil) }

// dial is Dial that also ends, with [ErrClosed], when stop is closed.
func (p *Port) dial(limit time.Duration, stop <-chan struct{}) (*Link, error) {
	if p.pending != nil && time.Since(p.pending.since) > stuck*p.pending.give {
		p.Hangup()
	}
	if p.pending == nil && !p.begin(max(limit, leastDial)) {
		return nil, ErrClosed
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case d := <-p.pending.result:
		p.pending = nil
		return d.link, d.err
	case <-stop:
		return nil, ErrClosed
	case <-p.source.ctx.Done():
		return nil, ErrClosed
	case <-t.C:
		return nil, fmt.Errorf("dialling: %w (%v)", ErrTimeout, limit.Round(time.Millisecond))
	}
}

// begin starts a dial. It returns false if the source is closed.
func (p *Port) begin(give time.Duration) bool {
	s := p.source
	if !s.enter() {
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	d := &dialling{since: time.Now(), give: give, cancel: cancel, result: make(chan dialled)}
	p.pending = d
	// Owned by the port; ends when the port takes the result, hangs up or the source is closed, and
	// the user's dialer has returned. Source.Close waits for it.
	go s.run(ctx, d)
	return true
}

// Hangup gives up a dial under way: its connection is closed when it comes.
func (p *Port) Hangup() {
	if p.pending != nil {
		p.pending.cancel()
		p.pending = nil
	}
}

// run dials, and keeps the result until it is taken or not wanted.
func (s *Source) run(ctx context.Context, d *dialling) {
	defer s.open.Done()
	defer d.cancel()
	link, err := s.connect(ctx, d.give)
	select {
	case d.result <- dialled{link, err}:
	case <-ctx.Done():
		if link != nil {
			link.Close()
		}
	}
}

// connect dials and greets.
func (s *Source) connect(ctx context.Context, give time.Duration) (*Link, error) {
	ctx, cancel := context.WithTimeout(ctx, give)
	defer cancel()
	conn, err := s.dialer.Dial(ctx)
	if err == nil && conn == nil {
		err = errors.New("the pool's dialer returned no connection and no error")
	}
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = ErrTimeout // it is our limit that has passed, and no context of the user's
	}
	if err != nil {
		return nil, discreet(err)
	}
	link := newLink(conn, s)
	stop := context.AfterFunc(ctx, link.Close)
	defer stop()
	if err := s.greet(link, give); err != nil {
		link.Close()
		return nil, err
	}
	s.met.Store(true)
	return link, nil
}

// errURL stands for what redigo's DialURL, in a pool's dialer, says of a URL that it cannot use: it
// repeats the URL, or the piece that it does not like, and a password with an unescaped special
// character can end up in every piece.
var errURL = errors.New("the pool's dialer cannot use its URL, which is not repeated here:" +
	" write redis://[user:password@]host:port/db, with special characters of the password" +
	" percent-encoded (%40 for @, %2F for /)")

// discreet cuts off what an error reply quotes of our command: where AUTH is not known, that is the
// password, and where EVALSHA is not, an owner's id. Errors that quote a URL are replaced.
func discreet(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		if text, _, cut := strings.Cut(string(reply), ", with args"); cut {
			return redis.Error(text)
		}
		return err
	}
	var bad *url.Error
	text := err.Error()
	if errors.As(err, &bad) && bad.Op == "parse" || strings.Contains(text, "invalid redis URL") ||
		strings.Contains(text, "invalid database: ") {
		return errURL
	}
	return err
}
