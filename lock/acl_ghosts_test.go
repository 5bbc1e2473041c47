package lock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// aclEndsGhosts gives a connection up of which Redis hears nothing. It returns nil if Redis has been told
// by the next one.
func aclEndsGhosts(a *aclCase) error {
	var mu sync.Mutex
	var conns []*aclGhost
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, a.server.Network(), a.server.Addr(), redis.DialUsername(a.user),
			redis.DialPassword("s3cret"), redis.DialNetDial(func(network, addr string) (net.Conn, error) {
				conn, err := net.Dial(network, addr)
				ghost := &aclGhost{Conn: conn}
				mu.Lock()
				defer mu.Unlock()
				conns = append(conns, ghost)
				return ghost, err
			}))
	}}
	c, err := lock.New(pool, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	ask := func() error { _, err := c.Owner(soon(a), a.name); return err }
	if err := ask(); !errors.Is(err, lock.ErrNotHeld) {
		return err
	}
	mu.Lock()
	first := conns[0]
	mu.Unlock()
	defer first.Conn.Close()
	first.gone.Store(true)
	for err = ask(); !errors.Is(err, lock.ErrNotHeld); err = ask() { // the first one, it or its repeat
		if soon(a).Err() != nil {
			return err
		}
	}
	_ = first.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := io.Copy(io.Discard, first.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("Redis goes on with a connection that was given up")
	}
	return nil
}

// An aclGhost is a connection that can break without a word to the other side.
type aclGhost struct {
	net.Conn
	gone atomic.Bool
}

func (c *aclGhost) Read(p []byte) (int, error) {
	if c.gone.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Read(p)
}

func (c *aclGhost) Close() error {
	if c.gone.Load() {
		return nil
	}
	return c.Conn.Close()
}
