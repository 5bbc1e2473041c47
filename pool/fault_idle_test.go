package pool_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// A connection died while it was idle, and the program's own Dial does not let that be seen. It is tried
// before the members are read, so that the one repeat of an acquire is left for the acquire.
func TestFaultIdleConnectionDied(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	conns := s.Pool(t)
	c, err := lock.New(conns, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	assign(t, c, nil, "a")
	locks.Pause(1100 * time.Millisecond)
	s.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	unlock(t, take(t, pool.New(c, "lab", nil)))
	if n := c.Stats().Retries; n != 0 {
		t.Errorf("%d attempts were repeated", n)
	}
}
