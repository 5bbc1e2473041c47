package locktest_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon returns a context that ends long after what it bounds should have happened.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// acquire takes a lock that must be free.
func acquire(t testing.TB, c *lock.Client, name string) *lock.Lease {
	t.Helper()
	lease, err := c.Mutex(name).TryLock(soon(t))
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return lease
}
