package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// A relay is a lock that goes from client to client. There is always one that waits for it and
// is done no harm, so the lock must never stay free for long.
type relay struct {
	most     int            // handovers
	per1000  map[string]int // of them that have this fault
	slowMost int            // handovers that may be found by a look
	runners  []*runner
	victims  []*runner
	stop     context.CancelFunc // of all runners

	mu       sync.Mutex // guards the fields below, and those of the runners
	next     *sync.Cond // there was a handover, or the race is over
	rng      *rand.Rand
	freed    time.Time // when the last Unlock returned
	gaps     []time.Duration
	slow     int // of them, over 150 ms: as long as a look may take
	faults   map[string]int
	acquired int
}

// A runner takes the lock and releases it, over and over.
type runner struct {
	client *lock.Client
	proxy  *faultproxy.Proxy

	// Guarded by relay.mu.
	cancel context.CancelFunc // of its waiting
	since  time.Time          // when that began; zero: it does not wait
}

// race lets all run, and returns when they have come to the end.
func (r *relay) race(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r.stop = stop
	context.AfterFunc(ctx, func() { // ends at once
		r.mu.Lock()
		defer r.mu.Unlock()
		r.next.Broadcast()
	})
	var all sync.WaitGroup
	for _, one := range r.runners {
		all.Go(func() { r.run(ctx, t, one) })
	}
	waitDone(t, ctx, r)
	all.Wait()
}

// waitDone waits for the end of the race, which must go on meanwhile.
func waitDone(t *testing.T, ctx context.Context, r *relay) {
	t.Helper()
	for before := -1; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Second):
		}
		r.mu.Lock()
		now := r.acquired
		r.mu.Unlock()
		if now == before {
			r.stop()
			t.Errorf("nobody has got the lock for 20 s, after %d handovers", now)
			return
		}
		before = now
	}
}

// run takes the lock and releases it until the race is over. Who has released it, or was told to leave,
// stays away until others have had it: it would ask as soon as it is back, and so hide that a signal is
// lost.
func (r *relay) run(race context.Context, t *testing.T, one *runner) {
	m := one.client.Mutex("job")
	for race.Err() == nil {
		ctx, cancel := context.WithCancel(race)
		r.waits(one, cancel, time.Now())
		lease, err := m.Lock(ctx)
		r.waits(one, func() {}, time.Time{})
		left := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			mine := r.got()
			r.unlock(t, lease)
			r.stayAway(race, mine+1)
		case !left || !errors.Is(err, context.Canceled):
			t.Errorf("Lock: %v", err)
			r.stop()
		default:
			r.stayAway(race, 0)
		}
	}
}

func (r *relay) waits(one *runner, cancel context.CancelFunc, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.cancel, one.since = cancel, since
}

// stayAway waits until the lock was acquired that often; 0 is some times from now on.
func (r *relay) stayAway(race context.Context, back int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if back == 0 {
		back = r.acquired + 4
	}
	for r.acquired < back && race.Err() == nil {
		r.next.Wait()
	}
}

// got counts an acquisition, and for how long the lock had been free. It returns how many there were.
func (r *relay) got() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gap time.Duration // none if the reply to the release is still under way
	if !r.freed.IsZero() {
		gap = time.Since(r.freed)
	}
	r.next.Broadcast()
	if r.acquired++; r.acquired > 1 {
		r.gaps = append(r.gaps, gap)
	}
	if gap > 150*time.Millisecond {
		r.slow++
	}
	r.freed = time.Time{}
	if len(r.gaps) >= r.most || r.slow > r.slowMost {
		r.stop()
	}
	return r.acquired
}

// unlock releases the lock, and lets a fault happen about then.
func (r *relay) unlock(t *testing.T, lease *lock.Lease) {
	r.mu.Lock()
	victim := r.chooseLocked()
	before, after := r.offsetsLocked()
	strike, what := r.drawLocked(victim)
	r.faults[what]++
	r.mu.Unlock()
	struck := make(chan struct{})
	go func() { // ends before the next look at the race
		defer close(struck)
		spin(after)
		strike()
	}()
	spin(before)
	err := lease.Unlock(context.Background())
	r.mu.Lock()
	r.freed = time.Now()
	r.mu.Unlock()
	if err != nil && !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
	<-struck
}

// offsetsLocked draws how long the release and the fault wait; one of the two does not. Half of them
// are as short as the way of a signal.
func (r *relay) offsetsLocked() (before, after time.Duration) {
	most := int64(200 * time.Microsecond)
	if r.rng.IntN(2) == 0 {
		most *= 10
	}
	offset := time.Duration(r.rng.Int64N(most))
	if r.rng.IntN(2) == 0 {
		return offset, 0
	}
	return 0, offset
}

// spin lets a time pass that is too short for timers.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// chooseLocked returns who is likely to get the next signal: who has waited for longest.
func (r *relay) chooseLocked() *runner {
	first := r.victims[0]
	for _, one := range r.victims {
		if first.since.IsZero() || !one.since.IsZero() && one.since.Before(first.since) {
			first = one
		}
	}
	return first
}

// drawLocked chooses a fault.
func (r *relay) drawLocked(victim *runner) (strike func(), what string) {
	n := r.rng.IntN(1000)
	for _, fault := range []struct {
		name   string
		strike func()
	}{
		{"cancel", victim.cancel},
		{"reset", func() { victim.proxy.Reset("BLPOP") }},
		{"reset all", func() { victim.proxy.Reset("") }},
		{"silence", func() {
			victim.proxy.Partition("BLPOP")
			locks.Pause(100 * time.Millisecond)
			victim.proxy.Heal()
		}},
	} {
		if n -= r.per1000[fault.name]; n < 0 {
			return fault.strike, fault.name
		}
	}
	return func() {}, "none"
}
