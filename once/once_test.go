package once_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/once"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// onBoth runs a test on a real server, which others use as well, and on the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, open locks.Opener)) {
	t.Helper()
	t.Parallel()
	locks.OnBoth(t, redistest.Shared, test)
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
	if owner, err := c.Owner(locks.Soon(t), name); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("held by %v: %v", owner, err)
	}
}
