package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
	"github.com/holdfast-go/holdfast/signal"
)

// A silent is a connection on which nothing comes once it blocks.
type silent struct {
	parrot.Conn
	blocks bool
	asked  any // for how long BLPOP was to block
	closed chan struct{}
}

func newSilent() *silent { return &silent{closed: make(chan struct{})} }

func (c *silent) Close() error { close(c.closed); return nil } // a Link does it once

func (c *silent) Send(cmd string, args ...any) error {
	if cmd == "BLPOP" {
		c.blocks = true
		c.asked = args[len(args)-1]
	}
	return c.Conn.Send(cmd, args...)
}

func (c *silent) Receive() (any, error) {
	if c.blocks {
		<-c.closed
		return nil, errors.New("closed")
	}
	return c.Conn.Receive()
}

// Row 29: a wait connection that is half open is found by the limit of its read, 30.5 s.
func TestReadIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newSilent()
		s := open(func(context.Context) (redis.Conn, error) { return conn, nil })
		dialer := s.Wait().Dialer(0)
		c, err := dialer.Dial()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Block(waitedFor("a", "b"), 30*time.Second)
		if took := time.Since(began); took != 30*time.Second+500*time.Millisecond || !errors.Is(err, redisconn.ErrTimeout) {
			t.Errorf("given up after %v: %v", took, err)
		}
		if conn.asked != "30.000" {
			t.Errorf("Redis is asked to block for %v s", conn.asked)
		}
		dialer.Hangup()
		s.Close(time.Second)
	})
}

// A distant is a connection whose round trips take long.
type distant struct {
	*silent
	trip time.Duration
}

func (c *distant) Flush() error {
	time.Sleep(c.trip)
	if c.blocks { // and Redis ends it late
		time.Sleep(30*time.Second + 100*time.Millisecond)
		c.blocks = false
	}
	select {
	case <-c.closed:
		return errors.New("closed")
	default:
		return c.Conn.Flush()
	}
}

// Redis ends a read when its time is up, and the reply comes a round trip later than asked: the
// connection is not given up for that.
func TestReadOfADistantRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(func(context.Context) (redis.Conn, error) {
			return &distant{newSilent(), 900 * time.Millisecond}, nil
		})
		dialer := s.Wait().Dialer(0)
		c, err := dialer.Dial()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Block(waitedFor("a", "b"), 30*time.Second); err != nil {
			t.Errorf("given up after %v: %v", time.Since(began), err)
		}
		c.Close()
		dialer.Hangup()
		s.Close(time.Second)
	})
}

// Waiters come, their wait connection cannot be dialled, and they leave: nothing stays behind.
func TestDialThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Int64
		s := open(func(ctx context.Context) (redis.Conn, error) {
			hang.Add(1)
			defer hang.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		hub := signal.New(s.Wait(), nil)
		for range 10 {
			w, err := hub.Join(signal.Name{Name: "n"}, signal.Forever)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			w.Leave(false)
			// Before the dial would have ended by itself, and after it.
			for _, later := range []time.Duration{6500 * time.Millisecond, 3500 * time.Millisecond} {
				time.Sleep(later)
				synctest.Wait()
				if n := hang.Load(); n > 1 { // that of the looks is the client's
					t.Errorf("%d dials hang though nobody waits", n)
				}
			}
		}
		hub.Close(time.Second)
		s.Close(time.Second)
	})
}

// A torn is a connection that breaks between the replies to a read and to what was sent with it.
type torn struct {
	parrot.Conn
	read, told bool
}

func (c *torn) Send(cmd string, args ...any) error {
	c.read = c.read || cmd == "BLPOP"
	return c.Conn.Send(cmd, args...)
}

func (c *torn) Receive() (any, error) {
	switch {
	case !c.read:
		return c.Conn.Receive()
	case c.told:
		return nil, errors.New("cut")
	}
	c.told = true
	return []any{[]byte("lock-signal:b"), []byte("1")}, nil
}

// The signal counts that was read before the connection broke, and the error comes with it: the hub
// then doubts what became of the other names' signals.
func TestReadThatBreaksHalfWay(t *testing.T) {
	t.Parallel()
	s := open(func(context.Context) (redis.Conn, error) { return &torn{}, nil })
	defer s.Close(time.Second)
	dialer := s.Wait().Dialer(0)
	defer dialer.Hangup()
	c, err := dialer.Dial()
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.Block(waitedFor("a", "b"), 30*time.Second)
	if len(names) != 1 || names[0].Name != "b" || err == nil {
		t.Fatalf("read %q, %v; want b, and an error", names, err)
	}
	if verdict := s.Wait().Judge(err); verdict != signal.Passes {
		t.Errorf("%v is judged %v, want that it passes", err, verdict)
	}
}
