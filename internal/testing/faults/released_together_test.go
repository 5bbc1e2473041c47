package faults_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 45: the locks of 64 names, for which one client waits on one connection, are released together.
// A round trip takes 20 ms. A lock is free until the signal has come (half a round trip) and the acquire
// is there (another half). Signals that come later than the first one take one round trip more.
func TestFaultReleasedTogether(t *testing.T) {
	t.Parallel()
	const names, rtt, rounds = 64, 20 * time.Millisecond, 5
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	holder, client := locks.Met(t, s.URL(), nil), locks.Met(t, p.URL(), nil)
	p.Delay(faultproxy.ToServer, rtt/2, "")
	p.Delay(faultproxy.ToClient, rtt/2, "")
	trip := tripOf(t, client)
	var free []time.Duration
	for range rounds {
		for _, handedOver := range releasedTogether(t, s, p, holder, client, names) {
			free = append(free, handedOver-trip/2) // the reply to the acquire takes half a round trip
		}
	}
	median, most := locks.Spread(free)
	t.Logf("free while waited for: median %v, at most %v; a round trip takes %v", median, most, trip)
	if median > 4*trip { // two, and what a machine that does much else adds; it was 25
		t.Errorf("free for %v at the median, want about two round trips of %v", median, trip)
	}
}

// releasedTogether has a client wait for as many names as the other one then releases. It returns for
// each how long the handover took.
func releasedTogether(t *testing.T, s *redistest.Server, p *faultproxy.Proxy, holder, client *lock.Client, names int,
) (took []time.Duration) {
	t.Helper()
	// BLPOP with the inbox, the names and the time.
	reads := p.Catch(faultproxy.Tell, fmt.Sprintf("*%d\r\n$5\r\nBLPOP", names+3))
	leases := make([]*lock.Lease, names)
	waits := make([]<-chan locks.Result, names)
	for i := range names {
		name := fmt.Sprint("job-", i)
		leases[i] = locks.Acquire(t, holder.Mutex(name))
		waits[i] = locks.Later(locks.Soon(t), client.Mutex(name))
	}
	locks.Await(t, "all names are read", reads.Done())
	s.Blocked(t, 1)

	released := make([]time.Time, names)
	var all sync.WaitGroup
	for i, lease := range leases {
		all.Go(func() {
			locks.Unlock(t, lease)
			released[i] = time.Now()
		})
	}
	all.Wait()
	for i, wait := range waits {
		lease, at := locks.Got(t, wait)
		took = append(took, at.Sub(released[i]))
		all.Go(func() { locks.Unlock(t, lease) })
	}
	all.Wait()
	return took
}

// tripOf returns what a round trip really takes: the proxy's timers are late, too.
func tripOf(t *testing.T, c *lock.Client) time.Duration {
	t.Helper()
	var trips []time.Duration
	for range 5 {
		began := time.Now()
		if _, err := c.Owner(locks.Soon(t), "nobody"); !errors.Is(err, lock.ErrNotHeld) {
			t.Fatal(err)
		}
		trips = append(trips, time.Since(began))
	}
	median, _ := locks.Spread(trips)
	return median
}
