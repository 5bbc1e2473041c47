package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
)

// lateCall gives up a call that Redis has executed, and returns the id that the lock is held under.
func lateCall(t *testing.T, s *inmemory.Server, e *Engine, call func(ctx context.Context) error) (id string) {
	t.Helper()
	lease, err := e.TryLock(context.Background(), want(e, "other")) // Redis learns the script
	if err != nil {
		t.Error(err)
	}
	_ = lease.Release()
	s.Delay(500 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	time.Sleep(50 * time.Millisecond) // in the bubble: it is executed, and not given up yet
	err = s.Eval("return redis.call('SET', 'copy', redis.call('GET', KEYS[1]))", []string{"lock:job"})
	if err != nil {
		t.Errorf("it was not executed: %v", err)
	}
	if err := <-done; !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
	s.Delay(0)
	id, err = redis.String(inspect(t, s).Do("GET", "copy"))
	if err != nil {
		t.Error(err)
	}
	return id
}

func inspect(t *testing.T, s *inmemory.Server) redis.Conn {
	conn := s.Pool().Get()
	t.Cleanup(func() { conn.Close() })
	return conn
}

// What a given-up call may take is released whenever it is executed within 110 s.
func TestLateVisits(t *testing.T) {
	t.Parallel()
	calls := map[string]func(e *Engine) func(ctx context.Context) error{
		"TryLock": func(e *Engine) func(ctx context.Context) error {
			return func(ctx context.Context) error { _, err := e.TryLock(ctx, want(e, "job")); return err }
		},
		"Lock": func(e *Engine) func(ctx context.Context) error {
			return func(ctx context.Context) error { _, err := e.Lock(ctx, want(e, "job")); return err }
		},
		"Block": func(e *Engine) func(ctx context.Context) error {
			return func(ctx context.Context) error { return e.Block(ctx, "job", "test", time.Hour) }
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inmemory.New()
				defer s.Close()
				e := open(t, s.Pool(), Options{})
				defer e.Close()
				began := time.Now()
				id := lateCall(t, s, e, call(e))
				conn := inspect(t, s)
				for _, at := range []time.Duration{1, 5, 13, 27, 55, 105} {
					time.Sleep(time.Until(began.Add(at * time.Second))) // in the bubble
					if n, err := redis.Int(conn.Do("EXISTS", "lock:job")); n != 0 || err != nil {
						t.Errorf("%d s: the lock is held: %v", at, err)
					}
					if _, err := conn.Do("SET", "lock:job", id, "PX", 3_600_000); err != nil { // the late command
						t.Error(err)
					}
				}
				time.Sleep(time.Until(began.Add(114 * time.Second))) // in the bubble
				if n, err := redis.Int(conn.Do("EXISTS", "lock:job")); n != 0 || err != nil {
					t.Errorf("the lock is held at the end: %v", err)
				}
				if e.janitor.Busy() {
					t.Error("the janitor still comes back")
				}
			})
		})
	}
}

// An unlocked lock without expiry, or one that was lost, has what was left of its TTL at every
// visit.
func TestLateVisitsOfALockWithoutExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inmemory.New()
		defer s.Close()
		e := open(t, s.Pool(), Options{})
		defer e.Close()
		conn := inspect(t, s)
		if _, err := conn.Do("SET", "lock:job", "x"); err != nil {
			t.Fatal(err)
		}
		e.janitor.Expire(e.store.Lock("job", "x"))
		time.Sleep(3 * time.Second) // in the bubble
		if _, err := conn.Do("PERSIST", "lock:job"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(17 * time.Second) // in the bubble
		if left, err := redis.Int(conn.Do("PTTL", "lock:job")); left < 9_000 || left > 10_000 {
			t.Errorf("20 s after it was left to expire it has %d ms, %v", left, err)
		}
		time.Sleep(11 * time.Second) // in the bubble
		if n, err := redis.Int(conn.Do("EXISTS", "lock:job")); n != 0 {
			t.Errorf("it lives after its time: %v", err)
		}
	})
}

// Close drops what only comes back, and takes no time for it.
func TestCloseDropsLateVisits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inmemory.New()
		defer s.Close()
		e := open(t, s.Pool(), Options{})
		id := lateCall(t, s, e, func(ctx context.Context) error { _, err := e.TryLock(ctx, want(e, "job")); return err })
		time.Sleep(time.Second) // in the bubble
		conn := inspect(t, s)
		if _, err := conn.Do("SET", "lock:job", id); err != nil {
			t.Error(err)
		}
		began := time.Now()
		e.Close()
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if n, err := redis.Int(conn.Do("EXISTS", "lock:job")); n != 1 {
			t.Errorf("it was not dropped: %v", err)
		}
	})
}
