package once_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/once"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type openFunc func(o *lock.Options) *lock.Client

// onBoth runs a test on a real server and on the embedded one. Clients that it opens are closed at
// the end of the test.
func onBoth(t *testing.T, test func(t *testing.T, open openFunc)) {
	t.Parallel()
	closing := func(t *testing.T, open func(*lock.Options) (*lock.Client, error)) openFunc {
		return func(o *lock.Options) *lock.Client {
			c, err := open(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
	}
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		url := redistest.Shared(t).URL()
		test(t, closing(t, func(o *lock.Options) (*lock.Client, error) { return lock.Open(url, o) }))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, closing(t, embedded.New().Open))
	})
}

// soon returns a context that ends long after what it bounds should have happened.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// store is what all hosts load from and store to.
type store struct {
	loads    atomic.Int64
	computed atomic.Int64
	stored   atomic.Int64
	fence    atomic.Int64 // of the last Store

	mu     sync.Mutex // guards the field below
	values map[string]string
}

func (s *store) load(_ context.Context, key string) (string, bool, error) {
	s.loads.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	return value, ok, nil
}

func (s *store) put(_ context.Context, key, value string, fence int64) error {
	s.stored.Add(1)
	s.fence.Store(fence)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]string)
	}
	s.values[key] = value
	return nil
}

func (s *store) compute(context.Context, string) (string, error) {
	s.computed.Add(1)
	return "fresh", nil
}

// cache returns the cache of one host.
func (s *store) cache(c *lock.Client) *once.Cache[string, string] {
	return &once.Cache[string, string]{
		Mutex:   func(key string) *lock.Mutex { return c.Mutex(key) },
		Load:    s.load,
		Compute: s.compute,
		Store:   s.put,
	}
}

// is checks how often was computed and stored.
func (s *store) is(t *testing.T, computed, stored int64) {
	t.Helper()
	if n := s.computed.Load(); n != computed {
		t.Errorf("computed %d times, want %d", n, computed)
	}
	if n := s.stored.Load(); n != stored {
		t.Errorf("stored %d times, want %d", n, stored)
	}
}

// gets checks that a caller gets the value.
func gets(ctx context.Context, t *testing.T, c *once.Cache[string, string], key string) {
	t.Helper()
	if value, err := c.Get(ctx, key); value != "fresh" || err != nil {
		t.Errorf("got %q, %v", value, err)
	}
}

// free checks that nobody holds a lock.
func free(t *testing.T, c *lock.Client, name string) {
	t.Helper()
	if owner, err := c.Owner(soon(t), name); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("held by %v: %v", owner, err)
	}
}
