package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/lock"
)

// Rows 1 and 10, around the push of the signal: a process that waits for many locks is killed or stopped
// while these are released. It has been told of some, has taken some, and stands first in line for the
// others. Whoever waits behind it gets them all: by a signal, by a look, or when they expire.
func TestFaultHandoversOfKilled(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, seedVariable, rand.Int()))
	t.Logf("%s=%d", seedVariable, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, strike := range peer.Strikes {
		t.Run(strike.String(), func(t *testing.T) {
			var gaps []time.Duration
			for range locks.Size(1, 50) {
				after := time.Duration(rng.Int64N(int64(2 * time.Millisecond)))
				gaps = append(gaps, struckRound(t, strike, after)...)
			}
			median, most := locks.Spread(gaps)
			t.Logf("from release to the survivor: median %v, at most %v, n = %d", median, most, len(gaps))
		})
	}
}

// struckRound releases locks, sends the signal that long after the first release, and returns how long
// it took until the survivor had each lock.
func struckRound(t *testing.T, strike os.Signal, after time.Duration) []time.Duration {
	t.Helper()
	const n, ttl = 20, time.Second
	s := locks.Server(t)
	holder, survivor := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
	victim := peer.Start(t, s.URL())
	var leases []*lock.Lease
	for i := range n {
		leases = append(leases, locks.Acquire(t, holder.Mutex(fmt.Sprint("job-", i))))
		victim.Tell(t, "wait %v job-%d", ttl, i)
		victim.Says(t, "waiting")
	}
	s.Blocked(t, n)
	var waits []<-chan locks.Result
	for _, lease := range leases {
		waits = append(waits, locks.Later(locks.Soon(t), survivor.Mutex(lease.Name())))
	}
	s.Blocked(t, n+1)
	struck := make(chan error, 1)
	go func() { // ends after that time
		spin(after)
		struck <- victim.Signal(strike)
	}()
	var released []time.Time
	for _, lease := range leases {
		locks.Unlock(t, lease)
		released = append(released, time.Now())
	}
	if err := locks.Await(t, "the signal", struck); err != nil {
		t.Fatal(err)
	}
	var gaps []time.Duration
	for i, wait := range waits {
		lease, at := locks.Got(t, wait)
		gaps = append(gaps, locks.Took(t, "the survivor", released[i], at, ttl+locks.S+locks.R+locks.Slack))
		locks.Unlock(t, lease)
	}
	victim.Kill()
	return gaps
}
