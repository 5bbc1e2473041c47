package redisconn

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

func TestPoolDialer(t *testing.T) {
	t.Parallel()
	if _, err := PoolDialer(nil); err == nil {
		t.Error("no pool: no error")
	}
	if _, err := PoolDialer(&redis.Pool{}); err == nil {
		t.Error("a pool without a dialer: no error")
	}
	f := newFake()
	plain := &redis.Pool{Dial: func() (redis.Conn, error) { return f.dial(context.Background()) }}
	for _, pool := range []*redis.Pool{plain, {DialContext: f.dial}} {
		dialer, err := PoolDialer(pool)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := dialer.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := conn.Do("PING"); got != "PING" || err != nil {
			t.Errorf("PING: %v, %v", got, err)
		}
		conn.Close()
		if n := pool.ActiveCount(); n != 0 {
			t.Errorf("%d of the pool's slots are taken", n)
		}
	}
}

// A server that knows no AUTH quotes the password.
func TestDialErrorDoesNotQuoteThePassword(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.setDialer(func(context.Context) error {
			return redis.Error("ERR unknown command `AUTH`, with args beginning with: `s3cret`, ")
		})
		s := NewSource(Dialer{Dial: f.dial}, "n")
		_, err := s.NewPort().Dial(time.Second)
		if err == nil || strings.Contains(err.Error(), "s3cret") || Classify(err) != Permanent {
			t.Errorf("error %v", err)
		}
		s.Close(0)
	})
}

func TestBadDialer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := NewSource(Dialer{
			Dial: func(context.Context) (redis.Conn, error) { return nil, nil },
		}, "n")
		if _, err := s.NewPort().Dial(time.Second); err == nil {
			t.Error("no connection and no error is no error")
		}
		s.Close(0)
	})
}

// A dial that takes longer than its owner's patience goes on, and the next call takes its result.
func TestSlowDial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.setDialer(func(ctx context.Context) error {
			select {
			case <-time.After(150 * ms):
				return nil
			case <-ctx.Done(): // it must have more time than the first call
				return ctx.Err()
			}
		})
		s := NewSource(Dialer{Dial: f.dial}, "n")
		p := s.NewPort()
		for range 3 {
			begin := time.Now()
			if _, err := p.Dial(40 * ms); !errors.Is(err, ErrTimeout) || time.Since(begin) != 40*ms {
				t.Errorf("after %v: %v, want ErrTimeout after 40 ms", time.Since(begin), err)
			}
		}
		link, err := p.Dial(40 * ms)
		if err != nil {
			t.Fatal(err)
		}
		if dials, open, _ := f.counts(); dials != 1 || open != 1 {
			t.Errorf("%d dials, %d open", dials, open)
		}
		link.Close()
		s.Close(0)
	})
}

// A dialer that hangs for ever: its dials are given up for new ones, but rarely, however short the
// patience is.
func TestDialsDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		release := make(chan struct{})
		f.setDialer(func(context.Context) error { <-release; return nil })
		s := NewSource(Dialer{Dial: f.dial}, "n")
		p := s.NewPort()
		for begin := time.Now(); time.Since(begin) < time.Minute; {
			_, _ = p.Dial(8 * ms)
		}
		if dials, _, _ := f.counts(); dials > 6 {
			t.Errorf("%d dials hang after a minute, want one per 10 s", dials)
		}
		p.Hangup()
		p.Hangup()
		close(release)
		synctest.Wait()
		if _, open, _ := f.counts(); open != 0 {
			t.Errorf("%d late connections are open", open)
		}
		s.Close(0)
	})
}

func TestSourceClose(t *testing.T) {
	for name, polite := range map[string]bool{"with a context": true, "without": false} {
		bubbleRun(t, name, func(t *testing.T) {
			f := newFake()
			f.setDialer(func(ctx context.Context) error {
				if polite {
					<-ctx.Done()
					return ctx.Err()
				}
				time.Sleep(5 * time.Second)
				return nil
			})
			s := NewSource(Dialer{Dial: f.dial}, "n")
			var owner sync.WaitGroup
			p := s.NewPort()
			owner.Go(func() {
				begin := time.Now()
				if _, err := p.Dial(time.Minute); err == nil || time.Since(begin) > time.Second {
					t.Errorf("the dial: %v after %v", err, time.Since(begin))
				}
			})
			time.Sleep(time.Second)
			begin := time.Now()
			s.Close(2 * time.Second)
			if took := time.Since(begin); polite && took != 0 || took > 2*time.Second {
				t.Errorf("Close took %v", took)
			}
			owner.Wait()
			if _, err := p.Dial(time.Second); !errors.Is(err, ErrClosed) {
				t.Errorf("a dial after Close: %v, want ErrClosed", err)
			}
			if _, err := s.NewPort().Dial(time.Second); !errors.Is(err, ErrClosed) {
				t.Errorf("a dial after Close: %v, want ErrClosed", err)
			}
			time.Sleep(time.Minute)
			if _, open, _ := f.counts(); open != 0 {
				t.Errorf("%d late connections are open", open)
			}
		})
	}
}

// A connection that nobody came for is closed with the source.
func TestUntakenConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.setDialer(func(context.Context) error { time.Sleep(100 * ms); return nil })
		s := NewSource(Dialer{Dial: f.dial}, "n")
		_, _ = s.NewPort().Dial(10 * ms)
		time.Sleep(time.Second)
		s.Close(time.Second)
		if _, open, _ := f.counts(); open != 0 {
			t.Errorf("%d connections are open", open)
		}
	})
}
