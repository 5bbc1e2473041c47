package lock_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Rows 1 and 10, around the push of the signal: a process that waits for many locks is killed or stopped
// while these are released. It has been told of some, has taken some, and stands first in line for the
// others. Whoever waits behind it gets them all: by a signal, by a look, or when they expire.
func TestFaultHandoversOfKilled(t *testing.T) {
	t.Parallel()
	seed := uint64(faultNumber(t, faultSeed, rand.Int()))
	t.Logf("%s=%d", faultSeed, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, strike := range faultStrikes {
		t.Run(strike.String(), func(t *testing.T) {
			var gaps []time.Duration
			for range faultSize(1, 50) {
				after := time.Duration(rng.Int64N(int64(2 * time.Millisecond)))
				gaps = append(gaps, faultStruck(t, strike, after)...)
			}
			median, most := faultSpread(gaps)
			t.Logf("from release to the survivor: median %v, at most %v, n = %d", median, most, len(gaps))
		})
	}
}

// faultStruck releases locks, sends the signal that long after the first release, and returns how long
// it took until the survivor had each lock.
func faultStruck(t *testing.T, strike os.Signal, after time.Duration) []time.Duration {
	t.Helper()
	const n, ttl = 20, time.Second
	s := faultServer(t)
	holder, survivor := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
	victim := faultStart(t, s.URL())
	var leases []*lock.Lease
	for i := range n {
		leases = append(leases, acquire(t, holder.Mutex(fmt.Sprint("job-", i))))
		victim.tell(t, "wait %v job-%d", ttl, i)
		victim.says(t, "waiting")
	}
	faultBlocked(t, s, n)
	var waits []<-chan faultResult
	for _, lease := range leases {
		waits = append(waits, faultLock(soon(t), survivor.Mutex(lease.Name())))
	}
	faultBlocked(t, s, n+1)
	struck := make(chan error, 1)
	go func() { // ends after that time
		faultSpin(after)
		struck <- victim.cmd.Process.Signal(strike)
	}()
	var released []time.Time
	for _, lease := range leases {
		unlock(t, lease)
		released = append(released, time.Now())
	}
	if err := await(t, "the signal", struck); err != nil {
		t.Fatal(err)
	}
	var gaps []time.Duration
	for i, wait := range waits {
		lease, at := faultGot(t, wait)
		gaps = append(gaps, faultTook(t, "the survivor", released[i], at, ttl+faultS+faultR+faultSlack))
		unlock(t, lease)
	}
	victim.kill()
	return gaps
}
