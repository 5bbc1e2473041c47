package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// waysThere are the ways to a server, each of which must notice that an idle connection is gone.
func waysThere(t *testing.T, s *redistest.Server) map[string]func() *lock.Client {
	t.Helper()
	pooled := func(options ...redis.DialOption) func() *lock.Client {
		return func() *lock.Client {
			pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				return redis.DialContext(ctx, s.Network(), s.Addr(), options...)
			}}
			c, err := lock.New(pool, &lock.Options{KeepOnClose: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
	}
	return map[string]func() *lock.Client{
		"Open":          func() *lock.Client { return locks.Open(t, s.URL(), &lock.Options{KeepOnClose: true}) },
		"NetDial":       pooled(redis.DialContextFunc(lock.NetDial(nil))),
		"another dials": pooled(),
	}
}

// sentOnce are calls that are sent once only: what is not known of one stays so. Each returns the call,
// for which it prepares what it needs.
var sentOnce = map[string]func(t *testing.T, c *lock.Client, name string) func() error{
	"TryLock with an ID": func(t *testing.T, c *lock.Client, name string) func() error {
		return func() error {
			_, err := c.MutexWith(name, &lock.MutexOptions{ID: "mine"}).TryLock(locks.Soon(t))
			return err
		}
	},
	"Lock with an ID": func(t *testing.T, c *lock.Client, name string) func() error {
		return func() error {
			_, err := c.MutexWith(name, &lock.MutexOptions{ID: "mine"}).Lock(locks.Soon(t))
			return err
		}
	},
	"Adopt with KeepID": func(t *testing.T, c *lock.Client, name string) func() error {
		id, err := locks.Acquire(t, c.Mutex(name)).Detach(locks.Soon(t))
		if err != nil {
			t.Fatal(err)
		}
		return func() error {
			_, err := c.MutexWith(name, &lock.MutexOptions{KeepID: true}).Adopt(locks.Soon(t), id)
			return err
		}
	},
	"ExtendBy": func(t *testing.T, c *lock.Client, name string) func() error {
		lease := locks.Acquire(t, c.MutexWith(name, &lock.MutexOptions{NoRenewal: true}))
		return func() error { _, err := lease.ExtendBy(locks.Soon(t), time.Second); return err }
	},
	"SetIf": func(t *testing.T, c *lock.Client, name string) func() error {
		r := register.New(c, name)
		return func() error { _, err := r.SetIf(locks.Soon(t), register.Equal, "0", "1", nil); return err }
	},
}

// Row 39: Redis closes connections that were idle for a second. Nothing is sent on one that is closed, so
// no call is in doubt: 0 of 100.
func TestFaultIdleConnections(t *testing.T) {
	t.Parallel()
	s := locks.Server(t, "timeout 1")
	rounds := 100 / (3 * len(sentOnce))
	var calls []func() error
	for way, open := range waysThere(t, s) {
		for what, prepare := range sentOnce {
			for i := range rounds + 1 {
				name := fmt.Sprintf("%s, %s, %d", what, way, i)
				call := prepare(t, open(), name)
				calls = append(calls, func() error {
					if err := call(); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					return nil
				})
			}
		}
	}
	redistest.Until(t, "Redis has closed all connections", func() bool { return s.Clients(t, "holdfast:") == 0 })
	var unknown atomic.Int64
	var wg sync.WaitGroup
	for _, call := range calls {
		wg.Go(func() {
			err := call()
			if errors.Is(err, lock.ErrUnknown) {
				unknown.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d calls are in doubt", unknown.Load(), len(calls))
}
