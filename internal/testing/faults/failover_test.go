package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 20, without sentinels: a failover to a replica that has the lock. The dialler finds the new
// master, and the lease continues there.
// Row 21: to one that has not. There can be two holders until the next renewal; the older one has the
// smaller token.
func TestFaultFailover(t *testing.T) {
	t.Parallel()
	for _, replicated := range []bool{true, false} {
		t.Run(fmt.Sprintf("replicated %v", replicated), func(t *testing.T) {
			t.Parallel()
			first := locks.Prepared(t, redistest.StartTCP(t, "repl-diskless-sync-delay 0"))
			second := locks.Prepared(t, redistest.StartTCP(t))
			var master atomic.Pointer[redistest.Server]
			master.Store(first)
			open := func(events *locks.Events) *lock.Client {
				pool := &redis.Pool{Dial: func() (redis.Conn, error) {
					m := master.Load()
					return redis.Dial(m.Network(), m.Addr())
				}}
				c, err := lock.New(pool, &lock.Options{TTL: 3 * time.Second, Hooks: events.Hooks()})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			events := locks.NewEvents()
			lease := locks.Acquire(t, open(events).Mutex("job"))
			events.RenewedNow(t)
			if replicated {
				host, port, _ := strings.Cut(first.Addr(), ":")
				second.Do(t, "REPLICAOF", host, port)
				redistest.Until(t, "the replica has the lock", func() bool {
					return locks.Value(t, second, "lock:job") == lease.ID()
				})
				second.Do(t, "REPLICAOF", "NO", "ONE")
			}
			master.Store(second)
			host, port, _ := strings.Cut(second.Addr(), ":")
			first.Do(t, "REPLICAOF", host, port)
			if replicated {
				events.RenewedNow(t)
				if !lease.Valid() {
					t.Errorf("lost by the failover: %v", lease.Err())
				}
				// The calls' connection still goes to the old master: that is noticed now.
				if err := lease.Unlock(locks.Soon(t)); err != nil && !errors.Is(err, lock.ErrUnknown) {
					t.Errorf("Unlock: %v", err)
				}
				redistest.Until(t, "it is released", func() bool { return locks.Value(t, second, "lock:job") == "" })
				return
			}
			next := locks.Acquire(t, open(locks.NewEvents()).Mutex("job"))
			locks.Is(t, "Lost", locks.Await(t, "Lost", events.Lost).Err, lock.ErrLost, renewal.ErrNotOwner)
			if next.Fence() <= lease.Fence() {
				t.Errorf("fences: %d, after the failover %d", lease.Fence(), next.Fence())
			}
			locks.Unlock(t, next)
		})
	}
}
