package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Rows 26 and 27: ten thousand waiters in one client (fewer under the race detector, which allows for
// 8128 goroutines). They cost two connections, one for each 64 names and
// one more, renewals of the same client are on time meanwhile, all who leave leave, and all who stay get
// the lock.
func TestFaultManyWaiters(t *testing.T) {
	t.Parallel()
	const names, most = 100, 2 + 2 + 1
	each := crowd / names
	s := locks.Server(t)
	holder := locks.Met(t, s.URL(), nil)
	events := locks.NewEvents()
	c := locks.Met(t, s.URL(), &lock.Options{Label: "crowd", TTL: 6 * time.Second, Hooks: events.Hooks()})
	own := locks.Acquire(t, c.Mutex("own"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var leases []*lock.Lease
	var stay []<-chan locks.Result
	var leave sync.WaitGroup
	for i := range names {
		name := fmt.Sprint("job-", i)
		leases = append(leases, locks.Acquire(t, holder.Mutex(name)))
		stay = append(stay, locks.Later(locks.Soon(t), c.Mutex(name)))
		for range each - 1 {
			leave.Go(func() {
				if _, err := c.Mutex(name).Lock(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("who left: %v", err)
				}
			})
		}
	}
	redistest.Until(t, "all wait", func() bool { return c.Stats().Waiting == names*each })
	events.RenewedNow(t)
	if n := s.Clients(t, "holdfast:crowd"); n > most {
		t.Errorf("%d waiters for %d names have %d connections, want at most %d", names*each, names, n, most)
	}
	began := time.Now()
	cancel()
	leave.Wait()
	t.Logf("%d waiters left within %v", names*(each-1), time.Since(began))
	for _, lease := range leases {
		locks.Unlock(t, lease)
	}
	released := time.Now()
	for _, wait := range stay {
		lease, at := locks.Got(t, wait)
		locks.Took(t, "the handover", released, at, locks.S+locks.Slack)
		locks.Unlock(t, lease)
	}
	if len(events.Failed) > 0 || len(events.Lost) > 0 || !own.Valid() {
		t.Errorf("%d renewals failed meanwhile; the lease is valid: %v", len(events.Failed), own.Valid())
	}
	locks.Unlock(t, own)
}
