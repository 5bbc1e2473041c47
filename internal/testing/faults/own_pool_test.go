package faults_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 26: the program has used up its own pool. Locks have their own connections.
func TestFaultPoolExhausted(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	pool := s.Pool(t)
	pool.MaxActive, pool.Wait = 1, true
	conn := pool.Get()
	defer conn.Close()
	if _, err := conn.Do("PING"); err != nil {
		t.Fatal(err)
	}
	open := func(e *locks.Events) *lock.Client {
		c, err := lock.New(pool, &lock.Options{TTL: 2000 * time.Millisecond, Hooks: e.Hooks()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	events, waiting := locks.NewEvents(), locks.NewEvents()
	lease := locks.Acquire(t, open(events).Mutex("job"))
	wait := locks.Later(locks.Soon(t), open(waiting).Mutex("job"))
	locks.Await(t, "Waiting", waiting.Waiting)
	began := time.Now()
	for range 3 {
		events.RenewedNow(t)
	}
	t.Logf("3 renewals, one for each third of 2 s, took %v", time.Since(began))
	locks.Unlock(t, lease)
	got, _ := locks.Got(t, wait)
	_ = got.Unlock(locks.Soon(t))
}
