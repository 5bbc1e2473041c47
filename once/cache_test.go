package once_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/once"
)

func TestManyComputeOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		const callers = 100 // of each client
		var s store
		key, ctx := redistest.Name(t), locks.Soon(t)
		compute := func(context.Context, string) (string, error) {
			redistest.Until(t, "all have asked", func() bool { return s.loads.Load() > 2*callers })
			return s.compute(ctx, key)
		}
		var all sync.WaitGroup
		for range 2 {
			c := s.cache(open(nil))
			c.Compute = compute
			for range callers {
				all.Go(func() { gets(ctx, t, c, key) })
			}
		}
		all.Wait()
		s.is(t, 1, 1)
		gets(ctx, t, s.cache(open(nil)), key)
		s.is(t, 1, 1)
	})
}

func TestKeysAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		var s store
		c := s.cache(open(nil))
		outer, inner := redistest.Name(t), redistest.Name(t)
		c.Compute = func(ctx context.Context, key string) (string, error) {
			if key == outer {
				gets(ctx, t, c, inner)
			}
			return s.compute(ctx, key)
		}
		gets(locks.Soon(t), t, c, outer)
		s.is(t, 2, 2)
	})
}

func TestFailureLetsTheNextTry(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		var s store
		key, ctx, bad := redistest.Name(t), locks.Soon(t), errors.New("no luck")
		waits := make(chan struct{}, 100)
		first, second := s.cache(open(nil)), s.cache(open(&lock.Options{Hooks: lock.Hooks{
			Waiting: func(lock.Event) { waits <- struct{}{} },
		}}))
		var other sync.WaitGroup
		first.Compute = func(context.Context, string) (string, error) {
			other.Go(func() { gets(ctx, t, second, key) })
			<-waits
			return "half", bad
		}
		if value, err := first.Get(ctx, key); value != "" || err != bad {
			t.Errorf("got %q, %v", value, err)
		}
		other.Wait()
		s.is(t, 1, 1)
	})
}

func TestPanicReleases(t *testing.T) {
	for what, end := range map[string]func(){
		"a panic":                func() { panic("no luck") },
		"the end of a goroutine": runtime.Goexit,
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, open locks.Opener) {
				var s store
				client := open(nil)
				c := s.cache(client)
				key, over := redistest.Name(t), make(chan any)
				c.Compute = func(context.Context, string) (string, error) { end(); return "", nil }
				go func() {
					defer func() { over <- recover() }()
					_, err := c.Get(context.Background(), key)
					t.Errorf("Get returned: %v", err)
				}()
				if got := <-over; what == "a panic" && got != "no luck" {
					t.Errorf("the panic is %v", got)
				}
				free(t, client, key)
				c.Compute = s.compute
				gets(locks.Soon(t), t, c, key)
			})
		})
	}
}

func TestLossOnServers(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		var s store
		key, other := redistest.Name(t), open(nil)
		c := s.cache(open(&lock.Options{TTL: 1500 * time.Millisecond}))
		c.Compute = func(ctx context.Context, _ string) (string, error) {
			holder, err := other.Owner(context.Background(), key)
			if err == nil {
				err = other.ReleaseID(context.Background(), key, holder.ID)
			}
			if err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return "late", nil
		}
		value, err := c.Get(locks.Soon(t), key)
		if value != "late" || !errors.Is(err, once.ErrNotStored) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("got %q, %v", value, err)
		}
		s.is(t, 0, 0)
	})
}

func TestFence(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		var s store
		client, name := open(nil), redistest.Name(t)
		c := s.cache(client)
		c.Mutex = func(string) *lock.Mutex { return client.Mutex(name) }
		gets(locks.Soon(t), t, c, "a")
		first := s.fence.Load()
		gets(locks.Soon(t), t, c, "b")
		if second := s.fence.Load(); first <= 0 || second <= first {
			t.Errorf("fencing tokens %d, then %d", first, second)
		}
		c.Mutex = func(string) *lock.Mutex {
			return client.MutexWith(name, &lock.MutexOptions{NoFence: true})
		}
		gets(locks.Soon(t), t, c, "c")
		if s.fence.Load() != 0 {
			t.Errorf("fencing token %d with NoFence", s.fence.Load())
		}
	})
}

func TestStoreThatFails(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		var s store
		client, key, bad := open(nil), redistest.Name(t), errors.New("full")
		c := s.cache(client)
		c.Store = func(context.Context, string, string, int64) error { return bad }
		value, err := c.Get(locks.Soon(t), key)
		if value != "fresh" || !errors.Is(err, once.ErrNotStored) || !errors.Is(err, bad) {
			t.Errorf("got %q, %v", value, err)
		}
		if errors.Is(err, lock.ErrLost) {
			t.Errorf("%v is a loss", err)
		}
		free(t, client, key)
	})
}

// A broken cache has nobody compute, be it broken before the lock is taken or after.
func TestLoadThatFails(t *testing.T) {
	onBoth(t, func(t *testing.T, open locks.Opener) {
		for good := range 2 {
			var s store
			client, key, bad := open(nil), redistest.Name(t), errors.New("gone")
			c := s.cache(client)
			left := good
			c.Load = func(context.Context, string) (string, bool, error) {
				left--
				if left < 0 {
					return "torn", true, bad
				}
				return "old", false, nil
			}
			if value, err := c.Get(locks.Soon(t), key); value != "" || !errors.Is(err, bad) {
				t.Errorf("got %q, %v", value, err)
			}
			s.is(t, 0, 0)
			if n := client.Stats().Acquired; int(n) != good {
				t.Errorf("took the lock %d times, want %d", n, good)
			}
			free(t, client, key)
		}
	})
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(*once.Cache[string, string]){
		"no Mutex":   func(c *once.Cache[string, string]) { c.Mutex = nil },
		"no Load":    func(c *once.Cache[string, string]) { c.Load = nil },
		"no Compute": func(c *once.Cache[string, string]) { c.Compute = nil },
		"no Store":   func(c *once.Cache[string, string]) { c.Store = nil },
		"nil lock": func(c *once.Cache[string, string]) {
			c.Mutex = func(string) *lock.Mutex { return nil }
		},
	} {
		var s store
		c := s.cache(nil)
		spoil(c)
		if _, err := c.Get(locks.Soon(t), "key"); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var s store
	var none context.Context
	if _, err := s.cache(nil).Get(none, "key"); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("no context: %v", err)
	}
}
