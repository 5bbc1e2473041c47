package redisconn

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// BenchmarkCall compares a call on a line with one on redigo: with a context that cannot end (the
// caller drives the line itself, redigo's Do) and with one that can (the line's goroutine,
// redigo's DoContext); by one goroutine and by 64, for whom redigo has a pool.
func BenchmarkCall(b *testing.B) {
	for _, server := range []*redistest.Server{redistest.Start(b), redistest.StartTCP(b)} {
		pool := &redis.Pool{
			MaxIdle: 64,
			Dial:    func() (redis.Conn, error) { return redis.Dial(server.Network(), server.Addr()) },
		}
		b.Cleanup(func() { pool.Close() })
		dialer, err := PoolDialer(pool)
		if err != nil {
			b.Fatal(err)
		}
		source := NewSource(dialer, "bench")
		l := NewLine(source)
		b.Cleanup(func() { l.Close(); source.Close(time.Second) })

		ctx, cancel := context.WithCancel(context.Background())
		b.Cleanup(cancel)
		one := pool.Get()
		b.Cleanup(func() { one.Close() })
		args := []any{"0123456789012345678901234567890123456789", "another argument"}
		onLine := func(ctx context.Context) error {
			return l.Do(ctx, NewCall(time.Now().Add(2*time.Second), Cmd("EXISTS", args...)))
		}
		onPool := func(ctx context.Context) error {
			c := pool.Get()
			defer c.Close()
			_, err := redis.DoContext(c, ctx, "EXISTS", args...)
			return err
		}
		run := func(name string, goroutines int, call func() error) {
			b.Run(fmt.Sprintf("%s/%s/%d", server.Network(), name, goroutines), func(b *testing.B) {
				share(b, goroutines, call)
			})
		}
		run("line", 1, func() error { return onLine(context.Background()) })
		run("redigo-Do", 1, func() error { _, err := one.Do("EXISTS", args...); return err })
		run("line-ctx", 1, func() error { return onLine(ctx) })
		run("redigo-DoContext", 1, func() error { return onPool(ctx) })
		run("line", 64, func() error { return onLine(context.Background()) })
		run("line-ctx", 64, func() error { return onLine(ctx) })
		run("redigo-pool", 64, func() error {
			c := pool.Get()
			defer c.Close()
			_, err := c.Do("EXISTS", args...)
			return err
		})
		run("redigo-pool-ctx", 64, func() error { return onPool(ctx) })
	}
}

// share spreads b.N calls over the goroutines.
func share(b *testing.B, goroutines int, call func() error) {
	b.ReportAllocs()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
