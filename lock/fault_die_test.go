package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 10, for many: the signals of many locks go to clients that are as good as dead. Whoever waits behind
// them has each lock by a look.
func TestFaultManyDieWithTheSignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before func(*faultproxy.Proxy) // when they wait
		after  func(*faultproxy.Proxy) // when the signals have gone to them
	}{
		{
			"cut off",
			func(p *faultproxy.Proxy) { p.Set(faultproxy.ToClient, faultproxy.Hold, "") },
			func(p *faultproxy.Proxy) { p.Refuse(true); p.Reset("") },
		},
		{"silent", func(p *faultproxy.Proxy) { p.Partition("") }, func(*faultproxy.Proxy) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newFaultDeaths(t)
			rounds := faultSize(6, 60)
			for round := range rounds {
				d.round(t, round, c.before, c.after)
			}
			if len(d.gaps) < rounds*faultVictims/10 {
				t.Errorf("only %d of %d signals were lost: this tests little", len(d.gaps), rounds*faultVictims)
			}
			median, most := faultSpread(d.gaps)
			t.Logf("%d signals lost with who heard them; free while waited for: median %v, at most %v",
				len(d.gaps), median, most)
		})
	}
}

// faultVictims is how many clients die in a round.
const faultVictims = 100

// faultDeaths are rounds in which clients die with a signal each, and one survives them.
type faultDeaths struct {
	server           *redistest.Server
	holder, survivor *lock.Client
	gaps             []time.Duration // of the signals that were lost
}

func newFaultDeaths(t *testing.T) *faultDeaths {
	t.Helper()
	s := faultServer(t)
	return &faultDeaths{server: s, holder: faultMet(t, s.URL(), nil), survivor: faultMet(t, s.URL(), nil)}
}

// round lets many clients wait, each for a lock of its own, and the survivor behind each of them; and
// releases the locks. A gap that is shorter than 20 ms is that of a signal that went to the survivor, whose
// read had begun before the victim's. A victim that looks just then takes its lock with it, until that
// expires.
func (d *faultDeaths) round(t *testing.T, round int, before, after func(*faultproxy.Proxy)) {
	t.Helper()
	const n, ttl = faultVictims, time.Second
	p := faultProxy(t, d.server)
	victims := make([]*lock.Client, n)
	leases := make([]*lock.Lease, n)
	for i := range n {
		victims[i] = faultMet(t, p.URL(), &lock.Options{TTL: ttl})
		leases[i] = acquire(t, d.holder.Mutex(fmt.Sprintf("job-%d-%d", round, i)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var dead, waits []<-chan faultResult
	for i, victim := range victims {
		dead = append(dead, faultLock(ctx, victim.Mutex(leases[i].Name())))
	}
	faultBlocked(t, d.server, n)
	before(p)
	for _, lease := range leases {
		waits = append(waits, faultLock(soon(t), d.survivor.Mutex(lease.Name())))
	}
	redistest.Until(t, "the survivor waits", func() bool { return d.survivor.Stats().Waiting == n })
	var released []time.Time
	for _, lease := range leases {
		unlock(t, lease)
		released = append(released, time.Now())
	}
	after(p)
	d.survives(t, waits, released, ttl+faultS+faultR)
	cancel()
	for _, wait := range dead {
		if r := await(t, "a dead one", wait); r.lease != nil {
			t.Errorf("a dead one has got %s", r.lease.Name())
		}
	}
	p.Heal()
	for _, victim := range victims {
		_ = victim.Close()
	}
}

// survives checks that the survivor gets all locks, each within the limit.
func (d *faultDeaths) survives(
	t *testing.T, waits []<-chan faultResult, released []time.Time, limit time.Duration,
) {
	t.Helper()
	for i, wait := range waits {
		lease, at := faultGot(t, wait)
		if gap := faultTook(t, "the survivor", released[i], at, limit); gap > 20*time.Millisecond {
			d.gaps = append(d.gaps, gap)
		}
		unlock(t, lease)
	}
}
