package pool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := pool.New(open(nil), "lab", nil)
		other := pool.New(open(nil), "lab", nil)
		want := func(what string, members ...string) {
			t.Helper()
			got, err := other.Members(locks.Soon(t))
			if err != nil || !slices.Equal(got, members) {
				t.Errorf("after %s: %q, %v; want %q", what, got, err, members)
			}
		}
		want("nothing")
		added, removed, err := p.Assign(locks.Soon(t), "c", "a", "b", "a")
		if err != nil || added != 3 || removed != 0 {
			t.Errorf("Assign: %d, %d, %v", added, removed, err)
		}
		want("Assign", "c", "a", "b")
		if n, err := p.Extend(locks.Soon(t), "d", "a", "e"); err != nil || n != 2 {
			t.Errorf("Extend: %d, %v", n, err)
		}
		want("Extend", "c", "a", "b", "d", "e")
		if n, err := p.Shrink(locks.Soon(t), "a", "x", "e"); err != nil || n != 2 {
			t.Errorf("Shrink: %d, %v", n, err)
		}
		want("Shrink", "c", "b", "d")
		added, removed, err = p.Assign(locks.Soon(t), "d", "z", "b")
		if err != nil || added != 1 || removed != 1 {
			t.Errorf("Assign: %d, %d, %v", added, removed, err)
		}
		want("Assign", "d", "z", "b")
		for member, want := range map[string]bool{"z": true, "c": false} {
			if got, err := other.Contains(locks.Soon(t), member); err != nil || got != want {
				t.Errorf("Contains(%s): %v, %v", member, got, err)
			}
		}
		if n, err := other.Len(locks.Soon(t)); err != nil || n != 3 {
			t.Errorf("Len: %d, %v", n, err)
		}
		if n, err := p.Clear(locks.Soon(t)); err != nil || n != 3 {
			t.Errorf("Clear: %d, %v", n, err)
		}
		want("Clear")
	})
}

// Who leaves the pool while it is held stays held, and is then given to nobody.
func TestShrinkWhileHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a", "b")
		other := pool.New(open(nil), "lab", nil)
		unlock(t, take(t, other)) // it knows the members now
		a, b := take(t, p), take(t, p)
		if n, err := p.Shrink(locks.Soon(t), "a"); err != nil || n != 1 {
			t.Fatalf("Shrink: %d, %v", n, err)
		}
		if !a.Valid() || a.Renew(locks.Soon(t)) != nil {
			t.Errorf("the lease of the one that left: %v", a.Err())
		}
		unlock(t, a)
		if lease, err := other.TryLock(locks.Soon(t)); !errors.Is(err, lock.ErrHeld) {
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
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		c := open(nil)
		got := make(chan string, 1)
		go func() {
			lease, err := pool.New(c, "lab", nil).Lock(locks.Soon(t))
			if err != nil {
				t.Errorf("Lock: %v", err)
				close(got)
				return
			}
			got <- lease.Member()
		}()
		redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
		if _, err := p.Extend(locks.Soon(t), "b"); err != nil {
			t.Fatal(err)
		}
		if member := <-got; member != "b" {
			t.Errorf("got %q", member)
		}
	})
}

// What a pool itself has added is there for it at once.
func TestExtendAndTake(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		if _, err := p.Extend(locks.Soon(t), "b"); err != nil {
			t.Fatal(err)
		}
		if lease := take(t, p); lease.Member() != "b" {
			t.Errorf("got %s", lease.Member())
		}
	})
}

// What a pool itself has changed counts at once, though its members are remembered for a while.
func TestAssignAnotherOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a", "b")
		unlock(t, take(t, p)) // it knows the members now
		if _, _, err := p.Assign(locks.Soon(t), "b", "a"); err != nil {
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
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := pool.New(open(nil), "lab", nil)
		if n, err := p.Len(locks.Soon(t)); n != 0 || err != nil {
			t.Fatalf("Len: %d, %v", n, err)
		}
		assign(t, open(nil), nil, "b")
		unlock(t, take(t, p))
	})
}

// So is one that took the place of another, though there are as many as before.
func TestAssignWhileWaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a", "b")
		take(t, p)
		take(t, p)
		got := waiters(t, open(nil), 1, "lab")
		if _, _, err := p.Assign(locks.Soon(t), "a", "c"); err != nil {
			t.Fatal(err)
		}
		if lease := <-got; lease.Member() != "c" {
			t.Errorf("got %q", lease.Member())
		}
	})
}

// Who waits for a pool that loses its last member is told.
func TestClearWhileWaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		c := open(nil)
		failed := make(chan error, 1)
		go func() {
			_, err := pool.New(c, "lab", nil).Lock(locks.Soon(t))
			failed <- err
		}()
		redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
		if n, err := p.Clear(locks.Soon(t)); err != nil || n != 1 {
			t.Fatalf("Clear: %d, %v", n, err)
		}
		if err := <-failed; !errors.Is(err, pool.ErrEmpty) {
			t.Errorf("Lock: %v", err)
		}
	})
}

// A member whose key is something else than a lock is neither held nor free, and nobody gets it. It
// keeps nobody from the others, nor from waiting for them.
func TestMemberIsNoLock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := assign(t, locks.Open(t, s.URL(), nil), nil, "a", "b", "c")
	s.Do(t, "RPUSH", "lock:{lab}/a", "x")
	s.Do(t, "PEXPIRE", "lock:{lab}/a", 20_000) // before any other
	if lease := take(t, p); lease.Member() != "b" {
		t.Errorf("got %s", lease.Member())
	}
	all, err := p.Status(locks.Soon(t))
	if err != nil || len(all) != 3 || !all[0].NoLock || all[0].Held || !all[1].Held || all[1].NoLock || all[2].NoLock {
		t.Errorf("Status: %+v, %v", all, err)
	}
	if held, free, err := p.Health(locks.Soon(t)); held != 1 || free != 1 || err != nil {
		t.Errorf("Health: %d, %d, %v", held, free, err)
	}
	take(t, p, "c")
	ctx, cancel := context.WithTimeout(locks.Soon(t), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock: %v", err)
	}
	if _, err := p.TryLock(locks.Soon(t), "a"); !errors.Is(err, lock.ErrWrongType) || !strings.Contains(err.Error(), "member a") {
		t.Errorf("TryLock of it: %v", err)
	}
}

// Nor does one whose fencing token is none.
func TestMemberWithoutToken(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := assign(t, locks.Open(t, s.URL(), nil), nil, "a", "b")
	s.Do(t, "SET", "lock-fence:{lab}/a", "x")
	if lease := take(t, p); lease.Member() != "b" {
		t.Errorf("got %s", lease.Member())
	}
}

// What another client has added is there, though this one remembers what was there before.
func TestExtendByAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open locks.Opener) {
		p := assign(t, open(nil), nil, "a")
		take(t, p)
		if _, err := p.TryLock(locks.Soon(t)); !errors.Is(err, lock.ErrHeld) { // it has read the members by now
			t.Fatalf("TryLock: %v", err)
		}
		if _, err := pool.New(open(nil), "lab", nil).Extend(locks.Soon(t), "b"); err != nil {
			t.Fatal(err)
		}
		if lease := take(t, p); lease.Member() != "b" {
			t.Errorf("got %s", lease.Member())
		}
	})
}

// Pools of one name under two formats of the locks' keys have nothing in common.
func TestFormatsApart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	assign(t, locks.Open(t, s.URL(), nil), nil, "x")
	p := pool.New(locks.Open(t, s.URL(), &lock.Options{KeyFormat: "{app}:%s:lock"}), "lab", nil)
	if _, err := p.TryLock(locks.Soon(t)); !errors.Is(err, pool.ErrEmpty) {
		t.Errorf("TryLock: %v", err)
	}
	if _, err := p.Extend(locks.Soon(t), "x"); err != nil {
		t.Fatal(err)
	}
	unlock(t, take(t, p))
	want := []string{
		"lock-fence:%{app}:{lab}/x:lock", "lock-pool:%{app}:{lab}:lock", "lock-pool:{lab}", "lock-signal:%{app}:{lab}/:lock",
	}
	if keys := s.Keys(t, "*"); !slices.Equal(keys, want) {
		t.Errorf("the keys are %q", keys)
	}
}
