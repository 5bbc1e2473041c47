package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
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
			d := newDeaths(t)
			rounds := locks.Size(6, 60)
			for round := range rounds {
				d.round(t, round, c.before, c.after)
			}
			if len(d.gaps) < rounds*victimClients/10 {
				t.Errorf("only %d of %d signals were lost: this tests little", len(d.gaps), rounds*victimClients)
			}
			median, most := locks.Spread(d.gaps)
			t.Logf("%d signals lost with who heard them; free while waited for: median %v, at most %v",
				len(d.gaps), median, most)
		})
	}
}

// victimClients is how many clients die in a round.
const victimClients = 100

// deaths are rounds in which clients die with a signal each, and one survives them.
type deaths struct {
	server           *redistest.Server
	holder, survivor *lock.Client
	gaps             []time.Duration // of the signals that were lost
}

func newDeaths(t *testing.T) *deaths {
	t.Helper()
	s := locks.Server(t)
	return &deaths{server: s, holder: locks.Met(t, s.URL(), nil), survivor: locks.Met(t, s.URL(), nil)}
}

// round lets many clients wait, each for a lock of its own, and the survivor behind each of them; and
// releases the locks. A gap that is shorter than 20 ms is that of a signal that went to the survivor, whose
// read had begun before the victim's. A victim that looks just then takes its lock with it, until that
// expires.
func (d *deaths) round(t *testing.T, round int, before, after func(*faultproxy.Proxy)) {
	t.Helper()
	const n, ttl = victimClients, time.Second
	p := locks.Proxy(t, d.server)
	victims := make([]*lock.Client, n)
	leases := make([]*lock.Lease, n)
	for i := range n {
		victims[i] = locks.Met(t, p.URL(), &lock.Options{TTL: ttl})
		leases[i] = locks.Acquire(t, d.holder.Mutex(fmt.Sprintf("job-%d-%d", round, i)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var dead, waits []<-chan locks.Result
	for i, victim := range victims {
		dead = append(dead, locks.Later(ctx, victim.Mutex(leases[i].Name())))
	}
	d.server.Blocked(t, n)
	before(p)
	for _, lease := range leases {
		waits = append(waits, locks.Later(locks.Soon(t), d.survivor.Mutex(lease.Name())))
	}
	redistest.Until(t, "the survivor waits", func() bool { return d.survivor.Stats().Waiting == n })
	var released []time.Time
	for _, lease := range leases {
		locks.Unlock(t, lease)
		released = append(released, time.Now())
	}
	after(p)
	d.survives(t, waits, released, ttl+locks.S+locks.R)
	cancel()
	for _, wait := range dead {
		if r := locks.Await(t, "a dead one", wait); r.Lease != nil {
			t.Errorf("a dead one has got %s", r.Lease.Name())
		}
	}
	p.Heal()
	for _, victim := range victims {
		_ = victim.Close()
	}
}

// survives checks that the survivor gets all locks, each within the limit.
func (d *deaths) survives(
	t *testing.T, waits []<-chan locks.Result, released []time.Time, limit time.Duration,
) {
	t.Helper()
	for i, wait := range waits {
		lease, at := locks.Got(t, wait)
		if gap := locks.Took(t, "the survivor", released[i], at, limit); gap > 20*time.Millisecond {
			d.gaps = append(d.gaps, gap)
		}
		locks.Unlock(t, lease)
	}
}
