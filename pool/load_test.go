package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// Nothing is renewed while a test counts commands, and nothing waits for a margin at the end.
var patient = lock.Options{TTL: time.Minute, Margin: time.Second, NoRenewal: true, KeepOnClose: true}

// held returns a pool of this name, all of whose members are held by a client of its own.
func held(t testing.TB, s *redistest.Server, name string, members int) []*pool.Lease {
	t.Helper()
	p := pool.New(locks.Open(t, s.URL(), &patient), name, nil)
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprint("m", i)
	}
	if _, _, err := p.Assign(locks.Soon(t), names...); err != nil {
		t.Fatalf("Assign: %v", err)
	}
	leases := make([]*pool.Lease, members)
	for i, member := range names {
		leases[i] = take(t, p, member)
	}
	return leases
}

// waiters has so many wait for a member of each pool, and returns what they get. They give up at
// the end of the test.
func waiters(t testing.TB, c *lock.Client, each int, names ...string) <-chan *pool.Lease {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan *pool.Lease, each*len(names))
	var all sync.WaitGroup
	for _, name := range names {
		p := pool.New(c, name, nil)
		for range each {
			all.Go(func() {
				if lease, err := p.Lock(ctx); err == nil {
					got <- lease
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("Lock: %v", err)
				}
			})
		}
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	redistest.Until(t, "all wait", func() bool { return c.Stats().Waiting == each*len(names) })
	return got
}

// 1,000 waiters for 100 members cost what one costs: the calls' connection, the renewals' and one
// that waits.
func TestManyWaitersAreCheap(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	leases := held(t, s, "lab", 100)
	c := locks.Open(t, s.URL(), &patient)
	got := waiters(t, c, 1000, "lab")
	if n := c.Stats().Connections; n > 3 {
		t.Errorf("%d connections", n)
	}
	for _, lease := range leases[:20] {
		unlock(t, lease)
		if next := <-got; next.Member() != lease.Member() {
			t.Errorf("%s was released, got %s", lease.Member(), next.Member())
		}
	}
}

// While nothing happens, waiters for one pool or for twenty send at most three commands a second.
func TestIdleWaitersAreCheap(t *testing.T) {
	t.Parallel()
	for _, pools := range []int{1, 20} {
		t.Run(fmt.Sprint(pools), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			names := make([]string, pools)
			for i := range names {
				names[i] = fmt.Sprint("lab", i)
				held(t, s, names[i], 3)
			}
			waiters(t, locks.Open(t, s.URL(), &patient), 5, names...)
			sent := func() int {
				counts := s.CommandCounts(t)
				return counts["evalsha"] + counts["eval"] + counts["blpop"]
			}
			redistest.Until(t, "they wait as they go on to", func() bool { return s.CommandCounts(t)["hset"] > 2 }) // looks
			before, began := sent(), time.Now()
			<-time.After(4 * time.Second)
			perSecond := float64(sent()-before) / time.Since(began).Seconds()
			t.Logf("%.1f commands per second", perSecond)
			if perSecond > 3.3 { // those of a second can come just before the end
				t.Errorf("%.1f commands per second while nothing happens", perSecond)
			}
		})
	}
}

// An acquire of one of 1,000 members that was executed but not answered, and was given up, is
// cleaned up by two commands.
func TestFaultCancelledAcquireIsCheap(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	leases := held(t, s, "lab", 1000)
	c := locks.Open(t, proxy.URL(), nil)
	p := pool.New(c, "lab", nil)
	if _, err := p.TryLock(locks.Soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Fatalf("TryLock: %v", err)
	}
	unlock(t, leases[500])
	before := s.CommandCounts(t)["evalsha"]
	caught := proxy.Catch(faultproxy.HoldReply, scripts.AcquireAny.SHA1)
	ctx, cancel := context.WithCancel(locks.Soon(t))
	failed := make(chan error, 1)
	go func() {
		_, err := p.TryLock(ctx)
		failed <- err
	}()
	<-caught.Done()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("TryLock: %v", err)
	}
	caught.Release()
	redistest.Until(t, "what it took is free", func() bool { return s.Do(t, "EXISTS", "lock:{lab}/m500") == int64(0) })
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	// Reading the members, the acquire, its release, and once more at Close.
	if n := s.CommandCounts(t)["evalsha"] - before; n > 4 {
		t.Errorf("%d scripts ran", n)
	}
}

// A hung Redis keeps TryLock for two operation limits, whatever it has to ask.
func TestFaultTryLockOnAHungServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := locks.Open(t, s.URL(), &patient)
	assign(t, c, nil, "a")
	p := pool.New(c, "lab", nil) // it has to read the members first
	s.Stop(t)
	defer s.Continue(t)
	began := time.Now()
	if lease, err := p.TryLock(locks.Soon(t)); err == nil {
		t.Errorf("got %v", lease)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v, more than two operation limits of 2 s and one of slack", took)
	}
}

// The members could not be read: nothing was acquired, and the error does not say that it may have
// been.
func TestFaultMembersAreNotRead(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	assign(t, locks.Open(t, s.URL(), nil), nil, "a")
	c := locks.Open(t, proxy.URL(), nil)
	if _, err := pool.New(c, "other", nil).Members(locks.Soon(t)); err != nil { // it has a connection
		t.Fatal(err)
	}
	p := pool.New(c, "lab", nil)
	for range 2 {
		proxy.Catch(faultproxy.CutReply, scripts.PoolMembers.SHA1)
	}
	if lease, err := p.TryLock(locks.Soon(t)); err == nil || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("TryLock: %v, %v", lease, err)
	}
}

// The caller's list of members is the caller's: what it becomes after TryLock does not mislead the
// clean-up.
func TestFaultListOfMembersIsReused(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	p := assign(t, locks.Open(t, proxy.URL(), nil), nil, "a", "b")
	only := []string{"a"}
	caught := proxy.Catch(faultproxy.HoldReply, scripts.AcquireAny.SHA1)
	ctx, cancel := context.WithCancel(locks.Soon(t))
	failed := make(chan error, 1)
	go func() {
		_, err := p.TryLock(ctx, only...)
		failed <- err
	}()
	<-caught.Done()
	cancel()
	if err := <-failed; !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("TryLock: %v", err)
	}
	only[0] = "b"
	caught.Release()
	redistest.Until(t, "what it took is free", func() bool { return locks.Value(t, s, "lock:{lab}/a") == "" })
}

// While a signal of a pool waits to be read, another release leaves its own.
func TestTwoReleasesLeaveTwoSignals(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, lease := range held(t, s, "lab", 2) {
		unlock(t, lease)
	}
	got := s.Dump(t, "lock-signal:{lab}/")["lock-signal:{lab}/"].Value
	if texts, _ := got.([]string); len(texts) != 2 || texts[0] != "m1" || texts[1] != "m0" {
		t.Errorf("the signals are %q", got)
	}
}
