package pool_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// An opener opens clients of one server, which are closed with the test.
type opener func(o *lock.Options) *lock.Client

// onBoth runs a test on a real server and on the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		test(t, func(o *lock.Options) *lock.Client { return open(t, s, o) })
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := locktest.Start(t)
		test(t, func(o *lock.Options) *lock.Client { return s.Client(t, o) })
	})
}

func open(t testing.TB, s *redistest.Server, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.Open(s.URL(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// soon returns a context that ends long after what it bounds should have happened.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
