package pool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// assign makes a pool with members.
func assign(t testing.TB, c *lock.Client, o *pool.Options, members ...string) *pool.Pool {
	t.Helper()
	p := pool.New(c, "lab", o)
	if _, _, err := p.Assign(locks.Soon(t), members...); err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return p
}

func take(t testing.TB, p *pool.Pool, only ...string) *pool.Lease {
	t.Helper()
	lease, err := p.TryLock(locks.Soon(t), only...)
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return lease
}

func unlock(t testing.TB, lease *pool.Lease) {
	t.Helper()
	if err := lease.Unlock(locks.Soon(t)); err != nil {
		t.Errorf("Unlock %s: %v", lease.Member(), err)
	}
}

func TestTakeInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
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
		if _, err := p.TryLock(locks.Soon(t)); !errors.As(err, &held) || held.Owner.Label != "me" {
			t.Errorf("when all are taken: %v", err)
		}
		if held, free, err := p.Health(locks.Soon(t)); held != 3 || free != 0 || err != nil {
			t.Errorf("Health: %d, %d, %v", held, free, err)
		}
		unlock(t, leases[1])
		if lease := take(t, p); lease.Member() != "a" || lease.Fence() <= leases[1].Fence() {
			t.Errorf("got %s with token %d after %d", lease.Member(), lease.Fence(), leases[1].Fence())
		}
		status, err := p.Status(locks.Soon(t))
		if err != nil || len(status) != 3 || status[0].Member != "b" || !status[2].Held ||
			status[2].Owner.Label != "me" || status[2].Owner.TTL <= 0 || status[2].Owner.ID != "" {
			t.Errorf("Status: %+v, %v", status, err)
		}
		if o, err := c.Owner(locks.Soon(t), "{lab}/b"); err != nil || o.Label != "me" {
			t.Errorf("Owner: %v, %v", o, err)
		}
	})
}

func TestTakeOnlyThese(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a", "b", "c")
		lease := take(t, p, "c", "b")
		if lease.Member() != "c" {
			t.Errorf("got %s", lease.Member())
		}
		if _, err := p.TryLock(locks.Soon(t), "c"); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("the taken one: %v", err)
		}
		if _, err := p.TryLock(locks.Soon(t), "x"); !errors.Is(err, pool.ErrEmpty) || strings.Contains(err.Error(), "no members") {
			t.Errorf("one that is no member: %v", err)
		}
		if _, err := p.Shrink(locks.Soon(t), "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.TryLock(locks.Soon(t), "c"); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("a taken one that has left: %v", err)
		}
		unlock(t, lease)
	})
}

func TestEmptyPool(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := pool.New(open(nil), "lab", nil)
		if _, err := p.TryLock(locks.Soon(t)); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("TryLock: %v", err)
		}
		if _, err := p.Lock(locks.Soon(t)); !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("Lock: %v", err)
		}
	})
}

// Many contenders of several clients: never two with one member, and all get their turn.
func TestExclusion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
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
						err := p.Do(locks.Soon(t), func(ctx context.Context, member string) error {
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
	onBoth(t, func(t *testing.T, open locks.Opener) {
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
	c := locks.Open(t, s.URL(), &lock.Options{Prefix: "p:"})
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
	c := locks.Open(t, s.URL(), nil)
	good := pool.New(c, "lab", nil)
	var nilCtx context.Context
	bad := map[string]error{
		"empty name":       locks.ErrOf(pool.New(c, "", nil).TryLock(locks.Soon(t))),
		"braces":           locks.ErrOf(pool.New(c, "a{b", nil).Lock(locks.Soon(t))),
		"control":          locks.ErrOf(pool.New(c, "a\n", nil).Members(locks.Soon(t))),
		"long":             locks.ErrOf(pool.New(c, strings.Repeat("x", 511), nil).Extend(locks.Soon(t), "a")),
		"member empty":     locks.ErrOf(good.Extend(locks.Soon(t), "a", "")),
		"member control":   locks.ErrOf(good.Shrink(locks.Soon(t), "a\x00")),
		"member long":      locks.ErrOf(good.TryLock(locks.Soon(t), strings.Repeat("x", 510))),
		"too many members": locks.ErrOf(good.Extend(locks.Soon(t), make([]string, 10_001)...)),
		"no members":       locks.ErrOf(good.TryLock(locks.Soon(t), []string{}...)),
		"nil context":      locks.ErrOf(good.TryLock(nilCtx)),
		"nil function":     good.Do(locks.Soon(t), nil),
		"ID": locks.ErrOf(pool.New(c, "lab", &pool.Options{Lock: &lock.MutexOptions{ID: "x"}}).
			TryLock(locks.Soon(t))),
		"TTL": locks.ErrOf(pool.New(c, "lab", &pool.Options{Lock: &lock.MutexOptions{TTL: 1}}).Lock(locks.Soon(t))),
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
		"TryLock": locks.ErrOf(good.TryLock(locks.Soon(t))), "Extend": locks.ErrOf(good.Extend(locks.Soon(t), "a")),
		"Members": locks.ErrOf(good.Members(locks.Soon(t))), "Clear": locks.ErrOf(good.Clear(locks.Soon(t))),
	} {
		if !errors.Is(err, lock.ErrWrongType) {
			t.Errorf("%s of a wrong type: %v", what, err)
		}
	}
}

// A client that was closed says so in its own words, whatever was asked of the pool.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := locks.Open(t, s.URL(), nil)
	p := assign(t, c, nil, "a")
	_ = c.Close()
	ctx := locks.Soon(t)
	_, _, assigned := p.Assign(ctx, "b")
	_, _, health := p.Health(ctx)
	for what, err := range map[string]error{
		"Assign": assigned, "Health": health,
		"Lock": locks.ErrOf(p.Lock(ctx)), "TryLock": locks.ErrOf(p.TryLock(ctx)),
		"Do":     p.Do(ctx, func(context.Context, string) error { return nil }),
		"Extend": locks.ErrOf(p.Extend(ctx, "b")), "Shrink": locks.ErrOf(p.Shrink(ctx, "b")),
		"Clear": locks.ErrOf(p.Clear(ctx)), "Members": locks.ErrOf(p.Members(ctx)),
		"Status": locks.ErrOf(p.Status(ctx)),
	} {
		if err != lock.ErrClosed {
			t.Errorf("%s: %v", what, err)
		}
	}
}
