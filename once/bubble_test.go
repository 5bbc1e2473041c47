package once_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/once"
)

// bubble runs a test in a bubble, with a server.
func bubble(t *testing.T, test func(t *testing.T, s *locktest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, locktest.Start(t)) })
}

// Of those who wait in a process one takes the lock; the others only load, once more.
func TestOneWaitsForAll(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		const callers = 100
		var s store
		a, b := server.Client(t, nil), server.Client(t, nil)
		done := make(chan struct{})
		var all sync.WaitGroup
		var caches []*once.Cache[string, string]
		ask := func(client *lock.Client) {
			c := s.cache(client)
			caches = append(caches, c)
			c.Compute = func(ctx context.Context, key string) (string, error) {
				<-done
				return s.compute(ctx, key)
			}
			for range callers {
				all.Go(func() { gets(t.Context(), t, c, "key") })
			}
			synctest.Wait()
		}
		ask(a)
		ask(b)
		if n := b.Stats().Waiting; n != 1 {
			t.Errorf("%d wait for the lock, want 1", n)
		}
		close(done)
		all.Wait()
		s.is(t, 1, 1)
		for _, c := range caches {
			if n := c.Queues(); n != 0 {
				t.Errorf("%d queues are left", n)
			}
		}
		for _, client := range []*lock.Client{a, b} {
			if n := client.Stats().Acquired; n != 1 {
				t.Errorf("a client took the lock %d times, want once", n)
			}
		}
		// All before, the two with the lock, and the others of each after.
		if n := s.loads.Load(); n != 2*callers+2+2*(callers-1) {
			t.Errorf("loaded %d times", n)
		}
	})
}

// Each failure is one caller's, and costs the cache one load more.
func TestAllFail(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		const callers = 10
		var s store
		c := s.cache(server.Client(t, nil))
		c.Compute = func(context.Context, string) (string, error) {
			n := s.computed.Add(1)
			time.Sleep(time.Second)
			return "", numbered(n)
		}
		met := make(chan error, callers)
		for range callers {
			go func() {
				_, err := c.Get(t.Context(), "key")
				met <- err
			}()
		}
		for n := range callers {
			if err := <-met; err != numbered(n+1) {
				t.Errorf("error %v, want number %d", err, n+1)
			}
		}
		s.is(t, callers, 0)
		if n := s.loads.Load(); n != 2*callers {
			t.Errorf("loaded %d times, want %d", n, 2*callers)
		}
	})
}

type numbered int

func (numbered) Error() string { return "no luck" }

func TestContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		var s store
		c := s.cache(server.Client(t, nil))
		other := s.cache(server.Client(t, nil))
		c.Compute = func(ctx context.Context, key string) (string, error) {
			if s.computed.Load() == 0 {
				s.computed.Add(1)
				<-ctx.Done()
				return "half", context.Cause(ctx)
			}
			return s.compute(ctx, key)
		}
		cause := errors.New("enough")
		ends := func(c *once.Cache[string, string], after time.Duration) <-chan error {
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, cause)
			met := make(chan error, 1)
			go func() {
				defer cancel()
				value, err := c.Get(ctx, "key")
				if value != "" || !errors.Is(err, cause) {
					t.Errorf("ended with %q, %v", value, err)
				}
				met <- err
			}()
			synctest.Wait()
			return met
		}
		began := time.Now()
		leads, follows := ends(c, 3*time.Minute), ends(c, time.Minute)
		elsewhere := ends(other, 2*time.Minute)
		var last sync.WaitGroup
		last.Go(func() { gets(t.Context(), t, c, "key") })

		err := <-follows
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		err = <-elsewhere
		if !errors.Is(err, lock.ErrHeld) || time.Since(began) != 2*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		<-leads
		last.Wait()
		if n := c.Queues() + other.Queues(); n != 0 {
			t.Errorf("%d queues are left", n)
		}
		if time.Since(began) != 3*time.Minute {
			t.Errorf("the last waited for %v", time.Since(began))
		}
		s.is(t, 2, 1)
	})
}

// What is lost meanwhile is not stored, and said.
func TestLoss(t *testing.T) {
	for what, test := range map[string]struct {
		compute func(context.Context) (string, error)
		store   func(context.Context) error
		value   string
		also    error // that the error is, beside a loss
	}{
		"compute goes on": {
			compute: func(ctx context.Context) (string, error) { <-ctx.Done(); return "late", nil },
			value:   "late",
			also:    once.ErrNotStored,
		},
		"compute stops": {
			compute: func(ctx context.Context) (string, error) { <-ctx.Done(); return "half", ctx.Err() },
			also:    context.Canceled,
		},
		"compute tells the cause": {
			compute: func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "half", context.Cause(ctx)
			},
			also: lock.ErrLost,
		},
		"store stops": {
			compute: func(context.Context) (string, error) { return "fresh", nil },
			store:   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			value:   "fresh",
			also:    once.ErrNotStored,
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *locktest.Server) {
				var s store
				c := s.cache(server.Client(t, nil))
				c.Compute = func(ctx context.Context, _ string) (string, error) {
					server.Steal("key", time.Minute)
					return test.compute(ctx)
				}
				if test.store != nil {
					c.Store = func(ctx context.Context, _, _ string, _ int64) error { return test.store(ctx) }
				}
				value, err := c.Get(t.Context(), "key")
				if value != test.value || !errors.Is(err, test.also) || !errors.Is(err, lock.ErrLost) {
					t.Errorf("got %q, %v", value, err)
				}
				s.is(t, 0, 0)
				c.Compute = s.compute // the next one waits for the thief, and has it computed
				c.Store = s.put
				gets(t.Context(), t, c, "key")
				s.is(t, 1, 1)
			})
		})
	}
}

// A lease that is lost while the cache is asked once more is told too, unless the cache has the
// value.
func TestLossWhileLoading(t *testing.T) {
	for what, test := range map[string]struct {
		load func(context.Context) (string, bool, error)
		want []error // none: the value is there
	}{
		"load stops": {
			func(ctx context.Context) (string, bool, error) { return "", false, ctx.Err() },
			[]error{context.Canceled, lock.ErrLost},
		},
		"load tells the cause": {
			func(ctx context.Context) (string, bool, error) { return "", false, context.Cause(ctx) },
			[]error{lock.ErrLost},
		},
		"load fails otherwise": {
			func(context.Context) (string, bool, error) { return "", false, numbered(1) },
			[]error{numbered(1), lock.ErrLost},
		},
		"load has the value": {
			func(context.Context) (string, bool, error) { return "fresh", true, nil },
			nil,
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *locktest.Server) {
				var s store
				c := s.cache(server.Client(t, nil))
				c.Load = func(ctx context.Context, key string) (string, bool, error) {
					if s.loads.Load() == 0 {
						return s.load(ctx, key) // before the lock is taken
					}
					server.Steal("key", time.Minute)
					<-ctx.Done()
					return test.load(ctx)
				}
				value, err := c.Get(t.Context(), "key")
				if len(test.want) == 0 && (value != "fresh" || err != nil) || len(test.want) > 0 && value != "" {
					t.Errorf("got %q, %v", value, err)
				}
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				}
				s.is(t, 0, 0)
			})
		})
	}
}

// So it is when Redis is gone while the value is computed.
func TestLossOfRedis(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		var s store
		client := server.Client(t, nil)
		c := s.cache(client)
		c.Compute = func(ctx context.Context, _ string) (string, error) {
			server.Down()
			<-ctx.Done()
			server.Up()
			return "late", nil
		}
		value, err := c.Get(t.Context(), "key")
		if value != "late" || !errors.Is(err, once.ErrNotStored) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("got %q, %v", value, err)
		}
		s.is(t, 0, 0)
	})
}

// Without Redis nobody computes.
func TestNoLockNoValue(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		var s store
		server.Down()
		c := s.cache(server.Client(t, nil))
		if value, err := c.Get(t.Context(), "key"); value != "" || err == nil {
			t.Errorf("got %q, %v", value, err)
		}
		s.is(t, 0, 0)
	})
}

// A release that takes long keeps nobody in the process from the value.
func TestNobodyWaitsForTheRelease(t *testing.T) {
	bubble(t, func(t *testing.T, server *locktest.Server) {
		var s store
		c := s.cache(server.Client(t, nil))
		stored := make(chan struct{})
		c.Store = func(ctx context.Context, key, value string, fence int64) error {
			<-stored
			server.Delay(time.Second)
			return s.put(ctx, key, value, fence)
		}
		began := time.Now()
		var leads sync.WaitGroup
		leads.Go(func() {
			gets(t.Context(), t, c, "key")
			if took := time.Since(began); took < time.Second {
				t.Errorf("the release took %v", took)
			}
		})
		synctest.Wait()
		var follows sync.WaitGroup
		follows.Go(func() { gets(t.Context(), t, c, "key") })
		synctest.Wait()
		close(stored)
		follows.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("waited for %v", took)
		}
		leads.Wait()
		server.Delay(0)
	})
}
