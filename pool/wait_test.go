package pool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// A waiter gets whatever member is released, by any client.
func TestWaitForAny(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		holder := assign(t, open(nil), nil, "a", "b", "c")
		leases := map[string]*pool.Lease{}
		for range 3 {
			lease := take(t, holder)
			leases[lease.Member()] = lease
		}
		c := open(nil)
		waiter := pool.New(c, "lab", nil)
		for _, member := range []string{"b", "c", "a"} {
			got := make(chan *pool.Lease, 1)
			go func() {
				lease, err := waiter.Lock(locks.Soon(t))
				if err != nil {
					t.Errorf("Lock: %v", err)
				}
				got <- lease
			}()
			redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
			unlock(t, leases[member])
			lease := <-got
			if lease == nil || lease.Member() != member {
				t.Fatalf("%s was released, got %v", member, lease)
			}
			leases[member] = lease
		}
	})
}

// When nobody releases, the member that expires first is taken.
func TestWaitForExpiry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		dead := open(&lock.Options{KeepOnClose: true})
		p := assign(t, dead, nil, "a", "b")
		take(t, p, "a")
		short := pool.New(dead, "lab", &pool.Options{Lock: &lock.MutexOptions{TTL: time.Second}})
		take(t, short, "b")
		_ = dead.Close()
		lease, err := pool.New(open(nil), "lab", nil).Lock(locks.Soon(t))
		if err != nil || lease.Member() != "b" {
			t.Fatalf("got %v, %v", lease, err)
		}
		unlock(t, lease)
	})
}

// A lock that is called as the pool is does not get into its way.
func TestLockOfThePoolsName(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		holder, err := open(nil).Mutex("{lab}").TryLock(locks.Soon(t))
		if err != nil {
			t.Fatal(err)
		}
		c := open(nil)
		ctx, cancel := context.WithCancel(locks.Soon(t))
		done := make(chan error, 1)
		go func() {
			_, err := c.Mutex("{lab}").Lock(ctx)
			done <- err
		}()
		redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
		p := assign(t, c, nil, "a")
		lease, err := p.Lock(locks.Soon(t))
		if err != nil {
			t.Fatalf("Lock: %v", err)
		}
		unlock(t, lease)
		if _, err := c.Mutex("{lab}/").Lock(locks.Soon(t)); !errors.Is(err, lock.ErrInvalid) { // where the pool's waiters are
			t.Errorf("Lock {lab}/: %v", err)
		}
		cancel()
		<-done
		_ = holder.Unlock(locks.Soon(t))
	})
}

// Who is woken sees what has been added, though what the client remembers is fresh.
func TestWokenAfterAssign(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	held(t, s, "lab", 2)
	var refused atomic.Int32
	o := patient
	o.Hooks = lock.Hooks{Waiting: func(lock.Event) { refused.Add(1) }}
	c := locks.Open(t, s.URL(), &o)
	p := pool.New(c, "lab", nil)
	got := make(chan *pool.Lease, 1)
	go func() {
		lease, err := p.Lock(locks.Soon(t))
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- lease
	}()
	redistest.Until(t, "it blocks", func() bool { return s.CommandCounts(t)["blpop"] > 0 })
	before := refused.Load()
	if _, err := p.Members(locks.Soon(t)); err != nil {
		t.Fatal(err)
	}
	assign(t, locks.Open(t, s.URL(), nil), nil, "m0", "m1", "m2")
	s.Do(t, "LPUSH", "lock-signal:{lab}/", "gone")
	if lease := <-got; lease == nil || lease.Member() != "m2" || refused.Load() != before {
		t.Errorf("got %v after %d refusals", lease, refused.Load()-before)
	}
}

// Who is woken asks for the member that the signal names, before it reads the members anew.
func TestWokenForOneMember(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	leases := held(t, s, "lab", 3)
	got := waiters(t, locks.Open(t, proxy.URL(), &patient), 1, "lab")
	s.Blocked(t, 1)
	locks.Pause(1100 * time.Millisecond) // then it does not know the members any more
	read := proxy.Catch(faultproxy.Tell, scripts.PoolMembers.SHA1)
	unlock(t, leases[1])
	if lease := <-got; lease.Member() != "m1" {
		t.Errorf("m1 was released, got %q", lease.Member())
	}
	select {
	case <-read.Done():
		t.Error("the members were read before the one that was released was asked for")
	default:
	}
}

// TryLock takes the first free member, and leaves what a signal said to those who wait for it.
func TestTryLockLeavesSignals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		c := open(nil)
		p := assign(t, c, nil, "a", "b")
		heard := bridge.Of(c).Engine.Store().Pools()
		heard.Heard("{lab}/", "b")
		if lease := take(t, p); lease.Member() != "a" {
			t.Errorf("got %q", lease.Member())
		}
		if free := heard.Freed("{lab}/"); free != "b" {
			t.Errorf("the signal says %q", free)
		}
	})
}
