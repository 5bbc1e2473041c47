package lock

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/gomodule/redigo/redis"
	"github.com/oklog/ulid/v2"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A Client is what the locks of one process share: connections, the waiting and the renewing. A
// process needs one client for each Redis. Any goroutine may call the methods of a client.
//
// Most callers call [Client.Do], which holds a lock while a function runs. [Client.Mutex] names a
// lock for everything else. [Client.Owner], [Client.List], [Client.Reset] and [Client.ResetAll] are
// for operators and for cleaning up. [Client.Check] looks whether the Redis is fit for locks.
// [Client.Stats] tells what the client does.
//
// A client costs Redis one connection for calls, and one for renewals once a lease is renewed. For
// waiting it costs one for each 64 names and one more. The connections are the client's own: a
// [redis.Pool] given to [New] is asked only how to dial. Close the client at the end.
type Client struct {
	seam     // for the packages beside this one
	engine   *engine.Engine
	store    *store.Store
	settings settings
}

// seam lets the packages beside this one use the engine.
type seam = bridge.Seam[*Lease, *MutexOptions, Owner]

// New returns a client for the Redis that a [redis.Pool] dials: with its TLS, its password and so
// on. The client uses no connection of the redis.Pool. Nil options are ready for use. New does no
// input or output. Its errors are all [ErrInvalid].
//
// The redis.Pool should dial with [NetDial]. Without NetDial, a PING at best notices a connection
// that the other side closed while it was idle. Replies have no limits then, and errors do not name
// the address. docs/operating.md has the whole list.
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
// Nil options are ready for use. Open does no input or output. Its errors are all [ErrInvalid], and
// none repeats any part of the URL. If the password would cross a network in the clear,
// Hooks.Warning is called before Open returns.
func Open(url string, o *Options) (*Client, error) {
	dialer, err := redisconn.ParseURL(url)
	if err != nil {
		return nil, invalid("%w", err)
	}
	c, err := open(dialer, o)
	if warn := o.hooks().Warning; warn != nil && err == nil && redisconn.PasswordInClear(url) {
		warn(Event{Err: passwordInClear})
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
	s := store.New(dialer, store.Options{
		Keys: o.keyspace(), Label: o.label(), Client: id.String(), SignalTTL: o.signalTTL(),
	})
	c := &Client{
		store:    s,
		settings: o.settings(),
		engine: engine.New(s, engine.Options{
			Words: words, Events: o.hooks().events(), MaxWaiters: o.maxWaiters(), Keep: o.keepOnClose(),
		}),
	}
	c.seam = bridge.Join(&bridge.View[*Lease, *MutexOptions, Owner]{
		Engine:    c.engine,
		CheckName: c.checkName,
		Settings: func(o *MutexOptions) (engine.Settings, error) {
			s, err := c.settings.with(o)
			return s.Settings, err
		},
		Lease: newLease,
		Do: func(ctx context.Context, take func(context.Context) (*Lease, error),
			fn func(context.Context, *Lease) error,
		) error {
			return do(ctx, c.engine, take, fn)
		},
		Owner: func(name string, held *store.Held) Owner { return ownerOf(name, held).anonymous() },
	})
	return c, nil
}

// missing reports whether there is no client: it is nil, or was not made by Open or New.
func (c *Client) missing() bool { return c == nil || c.engine == nil }

// checkName refuses names that no lock of this client can have.
func (c *Client) checkName(name string) error {
	if c.missing() {
		return engine.ErrNoClient
	}
	if err := checkName(name); err != nil {
		return err
	}
	if c.store.Collides(name) {
		return invalid("the name %.40q makes a key that begins as holdfast's own do: give it another"+
			" beginning, or choose another KeyFormat", name)
	}
	return nil
}

// call does something with a lock that may be done again after a network error.
func (c *Client) call(ctx context.Context, op, name string, do func() error) error {
	if err := c.checkName(name); err != nil {
		return err
	}
	return c.engine.Call(ctx, op, name, do)
}
