package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 1: processes that hold 300 locks are killed. One client that waits for all of them has each when it
// expires, by its own timers. Locks of one process expire together, those of another at another time. The 99th percentile is what the row bounds, on a machine at rest; here it
// must only be clear that no look has found them, which would come after 450 ms.
func TestFaultHolderKilled(t *testing.T) {
	t.Parallel()
	const n, each, least = 300, 60, 200
	s := locks.Server(t)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("job-", i)
	}
	var holders []*peer.Process
	for some := range slices.Chunk(names, each) {
		holder := peer.Start(t, s.URL())
		holder.Tell(t, "lock 2s %s", strings.Join(some, " "))
		holder.Says(t, "locked")
		holders = append(holders, holder)
	}
	events := locks.NewEvents()
	c := locks.Open(t, s.URL(), &lock.Options{Hooks: events.Hooks()})
	var waits []<-chan locks.Result
	for _, name := range names {
		waits = append(waits, locks.Later(locks.Soon(t), c.Mutex(name)))
	}
	for range n {
		locks.Await(t, "Waiting", events.Waiting)
	}
	for _, holder := range holders {
		holder.Kill()
	}
	redistest.Until(t, "Redis has seen the end", func() bool {
		return s.Clients(t, "holdfast:"+peer.Label) == 0
	})
	expiry := expiries(t, s, names)
	var leases []*lock.Lease
	var late []time.Duration
	for i, wait := range waits {
		lease, at := locks.Got(t, wait)
		leases = append(leases, lease)
		if expiry[i].IsZero() {
			continue // it had expired already, on a machine that slow
		}
		late = append(late, at.Sub(expiry[i]))
		if at.Before(expiry[i].Add(-5 * time.Millisecond)) {
			t.Errorf("%s: acquired %v before the expiry", names[i], expiry[i].Sub(at))
		}
	}
	for _, lease := range leases {
		locks.Unlock(t, lease)
	}
	slices.Sort(late)
	if len(late) < least {
		t.Fatalf("only %d locks had not expired yet: this tests nothing", len(late))
	}
	median, p99, most := late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	t.Logf("acquired after the expiry: median %v, p99 %v, at most %v, n = %d", median, p99, most, len(late))
	if median > 200*time.Millisecond || most > locks.S+locks.R {
		t.Errorf("acquired after the expiry: median %v, at most %v, want 200 ms and 3 s", median, most)
	}
}

// expiries returns when the locks expire, at the earliest; zero for those that have.
func expiries(t *testing.T, s *redistest.Server, names []string) []time.Time {
	t.Helper()
	conn := s.Dial(t)
	expiries := make([]time.Time, len(names))
	for i, name := range names {
		asked := time.Now()
		pttl, err := redis.Int64(conn.Do("PTTL", "lock:"+name))
		if err != nil {
			t.Fatal(err)
		}
		if pttl >= 0 {
			expiries[i] = asked.Add(time.Duration(pttl) * time.Millisecond)
		}
	}
	return expiries
}
