package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/internal/owner"
)

func TestNextVisit(t *testing.T) {
	t.Parallel()
	began := time.Now()
	since := began.Add(10*time.Second + 300*time.Millisecond)
	now := since
	var got []time.Duration
	for {
		next, ok := nextVisit(began, since, now)
		if !ok {
			break
		}
		if !next.After(now) {
			t.Fatalf("at %v the next visit is at %v", now.Sub(since), next.Sub(since))
		}
		now = next
		got = append(got, now.Sub(began))
	}
	want := []time.Duration{12300, 17000, 25000, 41000, 71000, 123000}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i]*time.Millisecond {
			t.Errorf("visit %d is at %v, want %v", i, got[i], want[i]*time.Millisecond)
		}
	}
}

// lateCall gives up a call that Redis has executed, and returns the id that the lock is held under.
func lateCall(t *testing.T, s *inmemory.Server, c *Client, call func(ctx context.Context) error) (id string) {
	t.Helper()
	lease, err := c.Mutex("other").TryLock(context.Background()) // Redis learns the script
	if err != nil {
		t.Error(err)
	}
	_ = lease.Unlock(context.Background())
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
	calls := map[string]func(c *Client) func(ctx context.Context) error{
		"TryLock": func(c *Client) func(ctx context.Context) error {
			return func(ctx context.Context) error { _, err := c.Mutex("job").TryLock(ctx); return err }
		},
		"Lock": func(c *Client) func(ctx context.Context) error {
			return func(ctx context.Context) error { _, err := c.Mutex("job").Lock(ctx); return err }
		},
		"Block": func(c *Client) func(ctx context.Context) error {
			return func(ctx context.Context) error { return c.Block(ctx, "job", time.Hour) }
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inmemory.New()
				defer s.Close()
				c, err := New(s.Pool(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				id := lateCall(t, s, c, call(c))
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
				c.janitor.mu.Lock()
				defer c.janitor.mu.Unlock()
				if c.janitor.busy {
					t.Error("the janitor still comes back")
				}
			})
		})
	}
}

// An unlocked lock without expiry, or one that was lost, has what was left of its TTL at every visit.
func TestLateVisitsOfALockWithoutExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inmemory.New()
		defer s.Close()
		c, err := New(s.Pool(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conn := inspect(t, s)
		if _, err := conn.Do("SET", "lock:job", "x"); err != nil {
			t.Fatal(err)
		}
		c.janitor.expire(lockRef{name: "job", id: "x", noExpiry: true})
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
		c, err := New(s.Pool(), nil)
		if err != nil {
			t.Fatal(err)
		}
		id := lateCall(t, s, c, func(ctx context.Context) error { _, err := c.Mutex("job").TryLock(ctx); return err })
		time.Sleep(time.Second) // in the bubble
		conn := inspect(t, s)
		if _, err := conn.Do("SET", "lock:job", id); err != nil {
			t.Error(err)
		}
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if n, err := redis.Int(conn.Do("EXISTS", "lock:job")); n != 1 {
			t.Errorf("it was not dropped: %v", err)
		}
	})
}

// However many calls are given up, the janitor comes back for so many.
func TestLateTasksAreBounded(t *testing.T) {
	t.Parallel()
	j := newJanitor(nil)
	now := time.Now()
	far := now.Add(time.Hour)
	for i := range maxLate + 5 {
		j.addLate(task{due: far, until: far, answered: now}, now.Add(time.Duration(i)))
	}
	j.mu.Lock()
	n, oldest := len(j.tasks), j.tasks[0].since
	j.mu.Unlock()
	if n != maxLate || oldest != now.Add(5) {
		t.Errorf("%d tasks, the oldest of %v", n, oldest.Sub(now))
	}
	j.close(now)
	if len(j.tasks) != 0 {
		t.Errorf("%d tasks are left", len(j.tasks))
	}
}

// However many locks are released before their minimum is over, the janitor keeps so many in mind: those whose
// ends are the nearest.
func TestEndsOfMinimumsAreBounded(t *testing.T) {
	t.Parallel()
	j := newJanitor(nil)
	now := time.Now()
	j.blockEnds(lockRef{name: "blocked", id: "id", keep: now.Add(300 * 24 * time.Hour)})
	for i := range maxLate + 5 {
		j.repair(lockRef{name: "job", keep: now.Add(time.Hour - time.Duration(i)*time.Millisecond)}, 0)
	}
	j.repair(lockRef{name: "job", keep: now.Add(2 * time.Hour)}, 0)
	j.mu.Lock()
	n, last := len(j.tasks), time.Time{}
	for _, t := range j.tasks {
		if !t.block {
			last = latest(last, t.keep)
		}
	}
	j.mu.Unlock()
	if want := now.Add(time.Hour - 5*time.Millisecond); n != maxLate+1 || last != want {
		t.Errorf("%d tasks, the last end %v from the one wanted", n, last.Sub(want))
	}
	if !j.blocks("blocked", "id"+owner.KeptSuffix) {
		t.Error("the block was forgotten")
	}
	j.close(now)
}
