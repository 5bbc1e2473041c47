package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 2: a holder is stopped for longer than its TTL. When it goes on it knows at once that it holds
// nothing, it does not touch who holds the lock now, and its fencing token is the smaller one.
func TestFaultHolderStopped(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	holder := faultStart(t, s.URL())
	holder.tell(t, "lock 500ms job")
	fence, _, _ := strings.Cut(holder.says(t, "locked"), " ")
	stale, err := strconv.ParseInt(fence, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	holder.tell(t, "watch")
	holder.says(t, "watching")
	holder.stop(t)

	c := faultOpen(t, s.URL(), nil)
	lease, _ := faultGot(t, faultLock(soon(t), c.Mutex("job")))
	resumed := time.Now()
	holder.resume(t)
	said := strings.Fields(holder.says(t, "invalid"))
	faultTook(t, "to be told", resumed, time.Now(), faultSlack)
	if said[0] != "0" || said[2] != "true" {
		t.Errorf("%s times valid after the deadline; the cause is ErrLost: %s", said[0], said[2])
	}
	t.Logf("the context ended %s after Valid was false, and that was heard of %v after SIGCONT",
		said[1], time.Since(resumed))
	holder.tell(t, "unlock")
	if said := holder.says(t, "unlocked"); !strings.HasPrefix(said, "true true ") {
		t.Errorf("Unlock is ErrNotHeld, is ErrLost: %s", said)
	}
	if got := value(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	if stale >= lease.Fence() {
		t.Errorf("fences: the stale one %d, the new one %d", stale, lease.Fence())
	}
	unlock(t, lease)
}

// Rows 3 and 6: a holder is cut off. It is told before anybody else acquires, with the last error.
func TestFaultHolderPartitioned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cutOff func(*faultproxy.Proxy)
		why    error // of the renewals
	}{
		{"silence", func(p *faultproxy.Proxy) { p.Partition("") }, redisconn.ErrTimeout},
		{"resets", func(p *faultproxy.Proxy) { p.Refuse(true); p.Reset("") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faultTestPartition(t, c.cutOff, c.why)
		})
	}
}

// faultTestPartition cuts off 20 holders with 25 leases each, at moments that are spread over the time
// between two renewals.
func faultTestPartition(t *testing.T, cutOff func(*faultproxy.Proxy), why error) {
	const holders, each = 20, 25
	const ttl, margin = 3 * time.Second, 300 * time.Millisecond
	s := faultServer(t)
	var mu sync.Mutex // guards the following fields
	told := map[string]time.Time{}
	leases := map[string]*lock.Lease{}
	var late, slack []time.Duration

	options := &lock.Options{TTL: ttl, Margin: margin, Hooks: lock.Hooks{Lost: func(i lock.LostInfo) {
		mu.Lock()
		defer mu.Unlock()
		told[i.Name] = time.Now()
		late = append(late, told[i.Name].Sub(leases[i.Name].Deadline()))
	}}}
	other := faultOpen(t, s.URL(), &lock.Options{Hooks: lock.Hooks{Acquired: func(i lock.AcquiredInfo) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if lease := leases[i.Name]; lease.Valid() || told[i.Name].IsZero() {
			t.Errorf("%s: acquired by another; the holder's lease is valid: %v, it was told: %v",
				i.Name, lease.Valid(), told[i.Name])
		}
		slack = append(slack, now.Sub(told[i.Name]))
	}}})
	var proxies []*faultproxy.Proxy
	waits := map[string]<-chan faultResult{}
	for h := range holders {
		p := faultProxy(t, s)
		proxies = append(proxies, p)
		holder := faultMet(t, p.URL(), options)
		for i := range each {
			name := fmt.Sprintf("job-%d-%d", h, i)
			lease := acquire(t, holder.Mutex(name))
			mu.Lock()
			leases[name] = lease
			mu.Unlock()
			waits[name] = faultLock(soon(t), other.Mutex(name))
		}
	}
	for _, p := range proxies {
		cutOff(p)
		faultPause(ttl / 3 / holders)
	}
	for name, wait := range waits {
		faultGot(t, wait)
		err := leases[name].Err()
		faultIs(t, "Err", err, lock.ErrLost, renewal.ErrExpired)
		var last *redisconn.Error
		if !errors.As(err, &last) || why != nil && !errors.Is(err, why) {
			t.Errorf("Err does not wrap the last error: %v", err)
		}
	}
	median, most := faultSpread(late)
	t.Logf("told after the deadline: median %v, at most %v; before the other acquired: at least %v of a"+
		" margin of %v, n = %d", median, most, slices.Min(slack), margin, len(slack))
}

// Row 25: the key is taken away. The holder learns of it at its next renewal, and leaves alone what
// is there now.
func TestFaultKeyTakenAway(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	for _, c := range []struct {
		name  string
		take  func(t *testing.T, s *redistest.Server, operator *lock.Client)
		after string // what the lock holds in the end
	}{
		{"deleted", func(t *testing.T, s *redistest.Server, _ *lock.Client) { s.Do(t, "DEL", "lock:job") }, ""},
		{"reset", func(t *testing.T, _ *redistest.Server, operator *lock.Client) {
			if was, held, err := operator.Reset(soon(t), "job"); !held || err != nil || was.Label == "" {
				t.Errorf("Reset: %v, %v, %v", was, held, err)
			}
		}, ""},
		{"overwritten", func(t *testing.T, s *redistest.Server, _ *lock.Client) {
			s.Do(t, "SET", "lock:job", "foreign")
		}, "foreign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			events := newFaultEvents()
			holder := faultOpen(t, s.URL(), &lock.Options{TTL: ttl, Hooks: events.hooks()})
			lease := acquire(t, holder.Mutex("job"))
			ctx, cancel := lease.Context(context.Background())
			defer cancel()
			events.renewedNow(t) // there is a connection
			operator := faultMet(t, s.URL(), nil)
			began := time.Now()
			c.take(t, s, operator)
			await(t, "the context's end", ctx.Done())
			took := faultTook(t, "to be told", began, time.Now(), ttl/3+ttl/6+faultSlack)
			t.Logf("told after %v", took)
			faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrNotOwner)
			faultIs(t, "Unlock", lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
			if got := value(t, s, "lock:job"); got != c.after {
				t.Errorf("the lock holds %q, want %q", got, c.after)
			}
		})
	}
}
