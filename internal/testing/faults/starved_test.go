package faults_test

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 33: four processes for each processor take all of its time while holders are cut off. Their
// leases are not valid any more when others acquire, and they have been told.
func TestFaultStarved(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		redistest.Skip(t, "no shell to keep the processors busy with")
	}
	for range 4 * runtime.NumCPU() {
		burner := exec.Command(shell, "-c", "while :; do :; done")
		if err := burner.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = burner.Process.Kill(); _ = burner.Wait() })
	}
	const n, ttl, margin = 25, 1500 * time.Millisecond, 500 * time.Millisecond
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	holder := locks.Met(t, p.URL(), &lock.Options{TTL: ttl, Margin: margin})
	var leases []*lock.Lease
	told := make([]time.Time, n)
	var all sync.WaitGroup
	for i := range n {
		lease := locks.Acquire(t, holder.Mutex(fmt.Sprint("job-", i)))
		leases = append(leases, lease)
		all.Go(func() {
			<-lease.Done()
			told[i] = time.Now()
		})
	}
	p.Partition("")
	other := locks.Open(t, s.URL(), nil)
	acquired := make([]time.Time, n)
	for i, lease := range leases {
		all.Go(func() {
			if _, err := other.Mutex(lease.Name()).Lock(locks.Soon(t)); err != nil || lease.Valid() {
				t.Errorf("%s: Lock: %v, and the first lease is valid: %v", lease.Name(), err, lease.Valid())
			}
			acquired[i] = time.Now()
		})
	}
	all.Wait()
	var late, slack []time.Duration
	for i, lease := range leases {
		late = append(late, told[i].Sub(lease.Deadline()))
		slack = append(slack, acquired[i].Sub(told[i]))
	}
	median, most := locks.Spread(late)
	least := slices.Min(slack)
	t.Logf("told after the deadline: median %v, at most %v; before the other acquired: at least %v, n = %d",
		median, most, least, n)
	if least <= 0 {
		t.Errorf("told %v after another had acquired", -least)
	}
}
