package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gomodule/redigo/redis"
	"github.com/oklog/ulid/v2"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
	"github.com/holdfast-go/holdfast/signal"
)

// A Client is what the locks of one process share: connections, the waiting and the renewing. A
// process needs one for each Redis; its methods may be called from any goroutine.
//
// Most callers call [Client.Do], which holds a lock while a function runs. [Client.Mutex] names a
// lock for everything else. [Client.Owner], [Client.List], [Client.Reset] and [Client.ResetAll] are for
// operators and for cleaning up; [Client.Check] looks whether the Redis is fit for locks, and
// [Client.Stats] tells what the client does.
//
// It costs Redis one connection for calls, one for renewals once a lease is renewed, and for waiting
// one for each 64 names and one more. They are its own: a pool given to [New] is asked only how
// to dial. Close it at the end.
type Client struct {
	store    *store
	hub      *signal.Hub
	leases   *renewal.Set[*hold]
	janitor  *janitor
	settings settings
	hooks    Hooks
	keep     bool // leave held keys to expire on Close

	maxWaiters int // 0: no limit
	stats      counters
	retries    pace  // of Lock
	breaks     pace  // of connections for waiting
	blocking   turns // of calls of Block

	calls    gate // the calls under way
	fns      gate // the functions that Do runs
	releases gate // the releases under way, of calls of Unlock
	refusing sync.Once
	closing  chan struct{} // closed when calls are refused
	once     sync.Once
	closed   chan struct{} // closed when Close is done
}

// New returns a client for the Redis that the pool dials: with its TLS, its password and so on. No
// connection of the pool is used. The pool should dial with [NetDial]. Without it, a connection that the
// other side closed while it was idle is noticed by a PING at best, replies have no limits, and errors
// do not name the address; docs/operating.md has the whole list. Nil options are ready for use. It does no I/O; the errors are all
// [ErrInvalid].
func New(pool *redis.Pool, o *Options) (*Client, error) {
	dialer, err := redisconn.PoolDialer(pool)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return open(dialer, o)
}

// Open returns a client for the Redis that a URL names:
//
//	redis://[[user]:password@]host[:port][/db]
//	rediss://[[user]:password@]host[:port][/db]           over TLS
//	unix://[[user]:password@]/path/of/socket[?db=n]
//
// Nil options are ready for use. It does no I/O; the errors are all [ErrInvalid], and none repeats
// any part of the URL. If the password would cross a network in the clear, Hooks.Warning is called
// before Open returns.
func Open(url string, o *Options) (*Client, error) {
	dialer, err := redisconn.ParseURL(url)
	if err != nil {
		return nil, invalid("%w", err)
	}
	c, err := open(dialer, o)
	if err == nil && redisconn.PasswordInClear(url) {
		tell(c.hooks.Warning, passwordInClear)
	}
	return c, err
}

func open(dialer redisconn.Dialer, o *Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	id, err := ulid.New(ulid.Now(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("lock: no randomness for the client's id: %w", err)
	}
	c := &Client{
		store:    newStore(dialer, o, id.String()),
		settings: o.settings(),
		hooks:    o.hooks(),
		keep:     o.keepOnClose(),
		closing:  make(chan struct{}),
		closed:   make(chan struct{}),

		maxWaiters: o.maxWaiters(),
	}
	c.janitor = newJanitor(c.store)
	c.hub = signal.New(waitStore{c.store}, &signal.Options{
		Reconnecting: c.reconnecting,
		Degraded:     func(err error) { tell(c.hooks.Degraded, DegradedInfo{err}) },
	})
	c.leases = renewal.New(c.extend, &renewal.Options[*hold]{
		Renewed: renewed,
		Failed:  renewalFailed,
		Ending:  ending,
		Ended:   ended,
	})
	return c, nil
}

// reconnecting is called when a connection for waiting broke.
func (c *Client) reconnecting(err error) {
	if times, ok := c.breaks.due(err); ok {
		tell(c.hooks.Reconnecting, ReconnectingInfo{Err: err, Times: times})
	}
}

// Mutex returns the lock of this name, with the client's options. It does no I/O; what is wrong with
// the name shows at the first call.
func (c *Client) Mutex(name string) *Mutex { return c.MutexWith(name, nil) }

// MutexWith is [Client.Mutex] with options of its own for this lock; nil is none.
func (c *Client) MutexWith(name string, o *MutexOptions) *Mutex {
	m := c.mutex(name, o)
	if len(name) > 3 && strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}/") {
		m.err = errors.Join(m.err, invalid("the name %.40q is what waiters for the pool %.40q wait for: choose another",
			name, name[1:len(name)-2]))
	}
	return m
}

// mutex is MutexWith for the names of pools, too.
func (c *Client) mutex(name string, o *MutexOptions) *Mutex {
	if c.missing() {
		return &Mutex{name: name, err: errNoClient}
	}
	s, err := c.settings.with(o)
	return &Mutex{client: c, name: name, settings: s, err: errors.Join(c.checkName(name), err)}
}

// Do runs fn while holding the lock of this name; see [Mutex.Do].
func (c *Client) Do(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return c.Mutex(name).Do(ctx, fn)
}

// missing reports whether there is no client: it is nil, or was not made by Open or New.
func (c *Client) missing() bool { return c == nil || c.store == nil }

// errNoClient is the error of using a client that is missing; where no error is returned it is the panic's.
var errNoClient = invalid("the client is nil: use the one that Open or New returned, if their error is nil")

// checkName refuses names that no lock of this client can have.
func (c *Client) checkName(name string) error {
	if c.missing() {
		return errNoClient
	}
	if err := checkName(name); err != nil {
		return err
	}
	if c.store.collides(name) {
		return invalid("the name %.40q makes a key that begins as holdfast's own do: give it another"+
			" beginning, or choose another KeyFormat", name)
	}
	return nil
}

// enter begins a call. Each successful one is followed by c.calls.leave.
func (c *Client) enter(ctx context.Context) error {
	if c.missing() {
		return errNoClient
	}
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	if !c.calls.enter() {
		return ErrClosed
	}
	return nil
}

// A gate counts those inside, lets nobody in any more once it is shut, and tells when it is empty.
// Its zero value is open.
type gate struct {
	mu     sync.Mutex // guards the fields below
	inside int
	shut   bool
	empty  chan struct{} // made by close; closed when shut and nobody is inside
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.shut && g.inside == 0 {
		close(g.empty)
	}
}

// close shuts the gate and returns a channel that is closed when nobody is inside.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut = true
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
