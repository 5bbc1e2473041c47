package redisconn

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// dialLimit is how long a dial may take, with its greeting, whatever the patience of its owner.
const dialLimit = 10 * time.Second

// A DialFunc opens a connection.
type DialFunc func(ctx context.Context) (redis.Conn, error)

// call calls the function, which may be the user's, and makes an error of a panic.
func (d DialFunc) call(ctx context.Context) (conn redis.Conn, err error) {
	defer recovered(&err)
	return d(ctx)
}

// A Dialer is how one server is reached.
type Dialer struct {
	Dial     DialFunc
	Greeting []Command // what a new connection needs before it can be used: AUTH, SELECT
	Address  string    // "redis at host:port", for errors; "" if it is not known
	TLS      bool      // Dial uses TLS, as far as is known
}

// PoolDialer returns how pool dials, without using its slots. The pool's Dial takes no context.
// What the pool dials is ready for use: authenticated, the database selected.
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
