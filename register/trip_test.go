package register_test

import (
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// A traffic is what a client has sent: commands, and how often it wrote any.
type traffic struct{ commands, writes atomic.Int64 }

// A countedConn counts what goes over it.
type countedConn struct {
	redis.Conn
	traffic *traffic
}

func (c countedConn) Send(name string, args ...any) error {
	c.traffic.commands.Add(1)
	return c.Conn.Send(name, args...)
}

func (c countedConn) Flush() error {
	c.traffic.writes.Add(1)
	return c.Conn.Flush()
}

// counted returns a client of the server that has its connection for calls, and what it sends on
// it.
func (b *backend) counted(t *testing.T) (*lock.Client, *traffic) {
	t.Helper()
	var sent traffic
	c, err := lock.New(&redis.Pool{Dial: func() (redis.Conn, error) {
		conn, err := b.dial()
		return countedConn{conn, &sent}, err
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, _, err := register.New(c, "nothing").Get(locks.Soon(t)); err != nil {
		t.Fatal(err)
	}
	return c, &sent
}

// TestOneRoundTrip: every method, whatever comes of it, is one command, written at once.
func TestOneRoundTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		c, sent := b.counted(t)
		ctx, r, g := locks.Soon(t), register.New(c, "n"), register.NewGate(c, "n")
		tolerant := &register.Options{Tolerance: 0.5}
		took := func(what string, trips int64, call func() error) {
			t.Helper()
			commands, writes := sent.commands.Load(), sent.writes.Load()
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			commands, writes = sent.commands.Load()-commands, sent.writes.Load()-writes
			if commands != trips || writes != trips {
				t.Errorf("%s: %d commands in %d writes, want %d", what, commands, writes, trips)
			}
		}
		for what, call := range map[string]func() error{
			"Get":          func() error { _, _, err := r.Get(ctx); return err },
			"SetIf":        func() error { return locks.ErrOf(r.SetIf(ctx, register.Equal, "1", "1", tolerant)) },
			"SetIf, not":   func() error { return locks.ErrOf(r.SetIf(ctx, register.Less, "-7", "1", nil)) },
			"DeleteIf":     func() error { return locks.ErrOf(r.DeleteIf(ctx, register.Equal, "1", tolerant)) },
			"DeleteIf not": func() error { return locks.ErrOf(r.DeleteIf(ctx, register.Less, "-7", nil)) },
			"Pass":         func() error { return g.Pass(ctx, 7) },
		} {
			took(what, 1, call)
		}
		b.do(t, "SCRIPT", "FLUSH")
		took("SetIf that brings the script back", 2, func() error {
			return locks.ErrOf(r.SetIf(ctx, register.Equal, "1", "1", nil))
		})
	})
}
