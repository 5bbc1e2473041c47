package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// assign makes a pool with members.
func assign(t testing.TB, c *lock.Client, o *pool.Options, members ...string) *pool.Pool {
	t.Helper()
	p := pool.New(c, "lab", o)
	if _, _, err := p.Assign(soon(t), members...); err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return p
}

func take(t testing.TB, p *pool.Pool, only ...string) *pool.Lease {
	t.Helper()
	lease, err := p.TryLock(soon(t), only...)
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return lease
}

func unlock(t testing.TB, lease *pool.Lease) {
	t.Helper()
	if err := lease.Unlock(soon(t)); err != nil {
		t.Errorf("Unlock %s: %v", lease.Member(), err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := pool.New(open(nil), "lab", nil)
		other := pool.New(open(nil), "lab", nil)
		want := func(what string, members ...string) {
			t.Helper()
			got, err := other.Members(soon(t))
			if err != nil || !slices.Equal(got, members) {
				t.Errorf("after %s: %q, %v; want %q", what, got, err, members)
			}
		}
		want("nothing")
		added, removed, err := p.Assign(soon(t), "c", "a", "b", "a")
		if err != nil || added != 3 || removed != 0 {
			t.Errorf("Assign: %d, %d, %v", added, removed, err)
		}
		want("Assign", "c", "a", "b")
		if n, err := p.Extend(soon(t), "d", "a", "e"); err != nil || n != 2 {
			t.Errorf("Extend: %d, %v", n, err)
		}
		want("Extend", "c", "a", "b", "d", "e")
		if n, err := p.Shrink(soon(t), "a", "x", "e"); err != nil || n != 2 {
			t.Errorf("Shrink: %d, %v", n, err)
		}
		want("Shrink", "c", "b", "d")
		added, removed, err = p.Assign(soon(t), "d", "z", "b")
		if err != nil || added != 1 || removed != 1 {
			t.Errorf("Assign: %d, %d, %v", added, removed, err)
		}
		want("Assign", "d", "z", "b")
		for member, want := range map[string]bool{"z": true, "c": false} {
			if got, err := other.Contains(soon(t), member); err != nil || got != want {
				t.Errorf("Contains(%s): %v, %v", member, got, err)
			}
		}
		if n, err := other.Len(soon(t)); err != nil || n != 3 {
			t.Errorf("Len: %d, %v", n, err)
		}
		if n, err := p.Clear(soon(t)); err != nil || n != 3 {
			t.Errorf("Clear: %d, %v", n, err)
		}
		want("Clear")
	})
}

func TestTakeInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		c := open(&lock.Options{Label: "me"})
		p := assign(t, c, nil, "b", "a", "c")
		var leases []*pool.Lease
		for _, want := range []string{"b", "a", "c"} {
			lease := take(t, p)
			if lease.Member() != want || lease.Name() != "{lab}/"+want || !lease.Valid() {
				t.Errorf("got %s under the lock %s, want %s", lease.Member(), lease.Name(), want)
			}
			leases = append(leases, lease)
		}
		var held *lock.HeldError
		if _, err := p.TryLock(soon(t)); !errors.As(err, &held) || held.Owner.Label != "me" {
			t.Errorf("when all are taken: %v", err)
		}
		if held, free, err := p.Health(soon(t)); held != 3 || free != 0 || err != nil {
			t.Errorf("Health: %d, %d, %v", held, free, err)
		}
		unlock(t, leases[1])
		if lease := take(t, p); lease.Member() != "a" || lease.Fence() <= leases[1].Fence() {
			t.Errorf("got %s with token %d after %d", lease.Member(), lease.Fence(), leases[1].Fence())
		}
		status, err := p.Status(soon(t))
		if err != nil || len(status) != 3 || status[0].Member != "b" || !status[2].Held ||
			status[2].Owner.Label != "me" || status[2].Owner.TTL <= 0 || status[2].Owner.ID != "" {
			t.Errorf("Status: %+v, %v", status, err)
		}
		if o, err := c.Owner(soon(t), "{lab}/b"); err != nil || o.Label != "me" {
			t.Errorf("Owner: %v, %v", o, err)
		}
	})
}

func TestTakeOnlyThese(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := assign(t, open(nil), nil, "a", "b", "c")
		lease := take(t, p, "c", "b")
		if lease.Member() != "c" {
			t.Errorf("got %s", lease.Member())
		}
		if _, err := p.TryLock(soon(t), "c"); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("the taken one: %v", err)
		}
		if _, err := p.TryLock(soon(t), "x"); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("one that is no member: %v", err)
		}
		unlock(t, lease)
	})
}

func TestEmptyPool(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := pool.New(open(nil), "lab", nil)
		if _, err := p.TryLock(soon(t)); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("TryLock: %v", err)
		}
		if _, err := p.Lock(soon(t)); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("Lock: %v", err)
		}
	})
}

// A waiter gets whatever member is released, by any client.
func TestWaitForAny(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
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
				lease, err := waiter.Lock(soon(t))
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
	onBoth(t, func(t *testing.T, open opener) {
		dead := open(&lock.Options{KeepOnClose: true})
		p := assign(t, dead, nil, "a", "b")
		take(t, p, "a")
		short := pool.New(dead, "lab", &pool.Options{Lock: &lock.MutexOptions{TTL: time.Second}})
		take(t, short, "b")
		_ = dead.Close()
		lease, err := pool.New(open(nil), "lab", nil).Lock(soon(t))
		if err != nil || lease.Member() != "b" {
			t.Fatalf("got %v, %v", lease, err)
		}
		unlock(t, lease)
	})
}

// Who leaves the pool while it is held stays held, and is then given to nobody.
func TestShrinkWhileHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := assign(t, open(nil), nil, "a", "b")
		other := pool.New(open(nil), "lab", nil)
		unlock(t, take(t, other)) // it knows the members now
		a, b := take(t, p), take(t, p)
		if n, err := p.Shrink(soon(t), "a"); err != nil || n != 1 {
			t.Fatalf("Shrink: %d, %v", n, err)
		}
		if !a.Valid() || a.Renew(soon(t)) != nil {
			t.Errorf("the lease of the one that left: %v", a.Err())
		}
		unlock(t, a)
		if lease, err := other.TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("got %v, %v", lease, err)
		}
		unlock(t, b)
		if lease := take(t, other); lease.Member() != "b" {
			t.Errorf("got %s", lease.Member())
		}
	})
}

// A member that is added is found by who waits.
func TestExtendWhileWaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		c := open(nil)
		got := make(chan string, 1)
		go func() {
			lease, err := pool.New(c, "lab", nil).Lock(soon(t))
			if err != nil {
				t.Errorf("Lock: %v", err)
				close(got)
				return
			}
			got <- lease.Member()
		}()
		redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
		if _, err := p.Extend(soon(t), "b"); err != nil {
			t.Fatal(err)
		}
		if member := <-got; member != "b" {
			t.Errorf("got %q", member)
		}
	})
}

// Many contenders of several clients: never two with one member, and all get their turn.
func TestExclusion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		const clients, each, rounds = 3, 6, 15
		members := []string{"a", "b", "c", "d"}
		assign(t, open(nil), nil, members...)
		inside := map[string]*atomic.Int32{}
		for _, m := range members {
			inside[m] = new(atomic.Int32)
		}
		var all sync.WaitGroup
		for i := range clients {
			p := pool.New(open(nil), "lab", &pool.Options{Spread: i%2 == 0})
			for range each {
				all.Go(func() {
					for range rounds {
						err := p.Do(soon(t), func(ctx context.Context, member string) error {
							if n := inside[member].Add(1); n != 1 {
								t.Errorf("%d hold %s", n, member)
							}
							inside[member].Add(-1)
							return ctx.Err()
						})
						if err != nil {
							t.Errorf("Do: %v", err)
						}
					}
				})
			}
		}
		all.Wait()
	})
}

func TestSpread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := assign(t, open(nil), &pool.Options{Spread: true}, "a", "b", "c", "d")
		seen := map[string]bool{}
		redistest.Until(t, "each member was taken", func() bool {
			lease := take(t, p)
			seen[lease.Member()] = true
			unlock(t, lease)
			return len(seen) == 4
		})
	})
}

func TestWire(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Prefix: "p:"})
	p := assign(t, c, nil, "a", "b")
	lease := take(t, p)
	want := []string{"p:lock-fence:{lab}/a", "p:lock-pool:{lab}", "p:lock:{lab}/a"}
	if keys := s.Keys(t, "*"); !slices.Equal(keys, want) {
		t.Errorf("held: %q", keys)
	}
	unlock(t, lease)
	want = []string{"p:lock-fence:{lab}/a", "p:lock-pool:{lab}", "p:lock-signal:{lab}/"}
	if keys := s.Keys(t, "*"); !slices.Equal(keys, want) {
		t.Errorf("released: %q", keys)
	}
	if got := s.Dump(t, "p:lock-signal:{lab}/")["p:lock-signal:{lab}/"].Value; !slices.Equal(got.([]string), []string{"a"}) {
		t.Errorf("the signal is %q", got)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	good := pool.New(c, "lab", nil)
	var nilCtx context.Context
	bad := map[string]error{
		"empty name":       errOf(pool.New(c, "", nil).TryLock(soon(t))),
		"braces":           errOf(pool.New(c, "a{b", nil).Lock(soon(t))),
		"control":          errOf(pool.New(c, "a\n", nil).Members(soon(t))),
		"long":             errOf(pool.New(c, strings.Repeat("x", 511), nil).Extend(soon(t), "a")),
		"member empty":     errOf(good.Extend(soon(t), "a", "")),
		"member control":   errOf(good.Shrink(soon(t), "a\x00")),
		"member long":      errOf(good.TryLock(soon(t), strings.Repeat("x", 510))),
		"too many members": errOf(good.Extend(soon(t), make([]string, 10_001)...)),
		"nil context":      errOf(good.TryLock(nilCtx)),
		"nil function":     good.Do(soon(t), nil),
		"ID": errOf(pool.New(c, "lab", &pool.Options{Lock: &lock.MutexOptions{ID: "x"}}).
			TryLock(soon(t))),
		"TTL": errOf(pool.New(c, "lab", &pool.Options{Lock: &lock.MutexOptions{TTL: 1}}).Lock(soon(t))),
	}
	for what, err := range bad {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if keys := s.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("keys: %q", keys)
	}
	s.Do(t, "SET", "lock-pool:{lab}", "x")
	for what, err := range map[string]error{
		"TryLock": errOf(good.TryLock(soon(t))), "Extend": errOf(good.Extend(soon(t), "a")),
		"Members": errOf(good.Members(soon(t))), "Clear": errOf(good.Clear(soon(t))),
	} {
		if !errors.Is(err, lock.ErrWrongType) {
			t.Errorf("%s of a wrong type: %v", what, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// 1,000 waiters for 100 members cost what one costs: the calls' connection, the renewals' and one that
// waits.
func TestManyWaitersAreCheap(t *testing.T) {
	t.Parallel()
	const waiting, handovers = 1000, 20
	s := redistest.Start(t)
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprint("m", i))
	}
	holder := assign(t, open(t, s, &lock.Options{TTL: time.Minute, Margin: time.Second}), nil, members...)
	var leases []*pool.Lease
	for _, member := range members {
		leases = append(leases, take(t, holder, member))
	}
	c := open(t, s, &lock.Options{TTL: time.Minute, Margin: time.Second})
	waiters := pool.New(c, "lab", nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got := make(chan *pool.Lease, waiting)
	var all sync.WaitGroup
	for range waiting {
		all.Go(func() {
			if lease, err := waiters.Lock(ctx); err == nil {
				got <- lease
			} else if !errors.Is(err, context.Canceled) {
				t.Errorf("Lock: %v", err)
			}
		})
	}
	redistest.Until(t, "all wait", func() bool { return c.Stats().Waiting == waiting })
	if n := c.Stats().Connections; n > 3 {
		t.Errorf("%d connections", n)
	}
	for _, lease := range leases[:handovers] {
		unlock(t, lease)
		if next := <-got; next.Member() != lease.Member() {
			t.Errorf("%s was released, got %s", lease.Member(), next.Member())
		}
	}
	cancel()
	all.Wait()
}

// What a pool itself has added is there for it at once.
func TestExtendAndTake(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		if _, err := p.Extend(soon(t), "b"); err != nil {
			t.Fatal(err)
		}
		if lease := take(t, p); lease.Member() != "b" {
			t.Errorf("got %s", lease.Member())
		}
	})
}

// What another client has assigned is there, though this one remembers an empty pool.
func TestAssignByAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		p := pool.New(open(nil), "lab", nil)
		if n, err := p.Len(soon(t)); n != 0 || err != nil {
			t.Fatalf("Len: %d, %v", n, err)
		}
		assign(t, open(nil), nil, "b")
		unlock(t, take(t, p))
	})
}

// A lock that is called as the pool is does not get into its way.
func TestLockOfThePoolsName(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		holder, err := open(nil).Mutex("{lab}").TryLock(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		c := open(nil)
		ctx, cancel := context.WithCancel(soon(t))
		done := make(chan error, 1)
		go func() {
			_, err := c.Mutex("{lab}").Lock(ctx)
			done <- err
		}()
		redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
		p := assign(t, c, nil, "a")
		lease, err := p.Lock(soon(t))
		if err != nil {
			t.Fatalf("Lock: %v", err)
		}
		unlock(t, lease)
		cancel()
		<-done
		_ = holder.Unlock(soon(t))
	})
}
