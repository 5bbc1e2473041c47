package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Rows 3 and 6: a holder is cut off. It is told before anybody else acquires, with the last error.
func TestFaultHolderPartitioned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cutOff func(*faultproxy.Proxy)
		why    error // of the renewals
	}{
		{"silence", func(p *faultproxy.Proxy) { p.Partition("") }, wire.ErrTimeout},
		{"resets", func(p *faultproxy.Proxy) { p.Refuse(true); p.Reset("") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testPartition(t, c.cutOff, c.why)
		})
	}
}

// testPartition cuts off 20 holders with 25 leases each, at moments that are spread over the time
// between two renewals.
func testPartition(t *testing.T, cutOff func(*faultproxy.Proxy), why error) {
	const holders, each = 20, 25
	const ttl, margin = 3 * time.Second, 300 * time.Millisecond
	s := locks.Server(t)
	var mu sync.Mutex // guards the following fields
	told := map[string]time.Time{}
	leases := map[string]*lock.Lease{}
	var late, slack []time.Duration

	options := &lock.Options{TTL: ttl, Margin: margin, Hooks: lock.Hooks{Lost: func(e lock.Event) {
		mu.Lock()
		defer mu.Unlock()
		told[e.Name] = time.Now()
		late = append(late, told[e.Name].Sub(leases[e.Name].Deadline()))
	}}}
	other := locks.Open(t, s.URL(), &lock.Options{Hooks: lock.Hooks{Acquired: func(e lock.Event) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if lease := leases[e.Name]; lease.Valid() || told[e.Name].IsZero() {
			t.Errorf("%s: acquired by another; the holder's lease is valid: %v, it was told: %v",
				e.Name, lease.Valid(), told[e.Name])
		}
		slack = append(slack, now.Sub(told[e.Name]))
	}}})
	var proxies []*faultproxy.Proxy
	waits := map[string]<-chan locks.Result{}
	for h := range holders {
		p := locks.Proxy(t, s)
		proxies = append(proxies, p)
		holder := locks.Met(t, p.URL(), options)
		for i := range each {
			name := fmt.Sprintf("job-%d-%d", h, i)
			lease := locks.Acquire(t, holder.Mutex(name))
			mu.Lock()
			leases[name] = lease
			mu.Unlock()
			waits[name] = locks.Later(locks.Soon(t), other.Mutex(name))
		}
	}
	for _, p := range proxies {
		cutOff(p)
		locks.Pause(ttl / 3 / holders)
	}
	for name, wait := range waits {
		locks.Got(t, wait)
		err := leases[name].Err()
		locks.Is(t, "Err", err, lock.ErrLost, renewal.ErrExpired)
		var last *wire.Error
		if !errors.As(err, &last) || why != nil && !errors.Is(err, why) {
			t.Errorf("Err does not wrap the last error: %v", err)
		}
	}
	median, most := locks.Spread(late)
	t.Logf("told after the deadline: median %v, at most %v; before the other acquired: at least %v of a"+
		" margin of %v, n = %d", median, most, slices.Min(slack), margin, len(slack))
}
