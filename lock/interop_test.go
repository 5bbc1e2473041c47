package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// interop returns a server, a client of ours and one of python-redis-lock's.
func interop(t *testing.T, o *lock.Options) (*redistest.Server, *lock.Client, *peer.Process) {
	t.Helper()
	t.Parallel()
	redistest.Python(t) // before a server is started
	s := locks.Server(t)
	return s, locks.Met(t, s.URL(), o), peer.Python(t, s)
}

// Go holds; Python waits and is woken by the release, also where it waits for ever.
func TestInteropPythonWaits(t *testing.T) {
	for _, expire := range []string{"-", "20"} {
		t.Run("expire "+expire, func(t *testing.T) {
			s, c, python := interop(t, nil)
			lease := acquire(t, c.Mutex("job"))
			python.Tell(t, "owner job")
			if got := python.Says(t, "owner"); got != lease.ID() {
				t.Errorf("Python sees the owner %q, want %q", got, lease.ID())
			}
			python.Tell(t, "wait job %s", expire)
			python.Says(t, "waiting")
			s.Blocked(t, 1)
			released := time.Now()
			unlock(t, lease)
			id := python.Says(t, "acquired")
			t.Logf("woken after %v", locks.Took(t, "the handover", released, time.Now(), locks.Slack))
			if got := value(t, s, "lock:job"); got != id {
				t.Errorf("the lock holds %q, want %q", got, id)
			}
			python.Tell(t, "unlock job")
			python.Says(t, "unlocked")
		})
	}
}

// Python holds, with expiry or without; Go sees it, waits and is woken by the release.
func TestInteropGoWaits(t *testing.T) {
	for _, c := range []struct {
		expire string
		ttl    time.Duration
	}{{"-", lock.NoExpiry}, {"20", 20 * time.Second}} {
		t.Run("expire "+c.expire, func(t *testing.T) {
			events := locks.NewEvents()
			s, client, python := interop(t, &lock.Options{Hooks: events.Hooks()})
			python.Tell(t, "lock job %s", c.expire)
			id := python.Says(t, "locked")
			_, err := client.Mutex("job").TryLock(soon(t))
			var held *lock.HeldError
			if !errors.As(err, &held) || strings.Contains(err.Error(), id) {
				t.Fatalf("TryLock: %v", err)
			}
			o, err := client.Owner(soon(t), "job")
			if err != nil || o.ID != id || o.Label != "" || !o.Since.IsZero() {
				t.Errorf("Owner: %+v, %v, want the id %q and nothing else", o, err, id)
			}
			for _, ttl := range []time.Duration{held.Owner.TTL, o.TTL} {
				if ttl != c.ttl && (c.ttl < 0 || ttl > c.ttl || ttl < c.ttl-locks.R) {
					t.Errorf("TTL %v, want %v", ttl, c.ttl)
				}
			}
			wait := locks.Later(soon(t), client.Mutex("job"))
			await(t, "Waiting", events.Waiting)
			s.Blocked(t, 1)
			released := time.Now()
			python.Tell(t, "unlock job")
			python.Says(t, "unlocked")
			lease, at := locks.Got(t, wait)
			t.Logf("woken after %v", locks.Took(t, "the handover", released, at, locks.Slack))
			unlock(t, lease)
		})
	}
}

// Four Go and four Python processes increment one number that only the lock guards.
func TestInteropIncrements(t *testing.T) {
	const each, times = 4, 250
	s, _, first := interop(t, nil)
	pythons, ours := []*peer.Process{first}, []*peer.Process{peer.Start(t, s.URL())}
	for range each - 1 {
		pythons = append(pythons, peer.Python(t, s))
		ours = append(ours, peer.Start(t, s.URL()))
	}
	began := time.Now()
	for _, p := range pythons {
		p.Tell(t, "increment job number %d", times)
	}
	for _, p := range ours {
		p.Tell(t, "increment 20s job number %d", times)
	}
	for _, p := range slices.Concat(pythons, ours) {
		p.Says(t, "incremented")
	}
	t.Logf("%d increments took %v", 2*each*times, time.Since(began))
	for _, p := range ours {
		p.Kill()
	}
	if got := locks.Int(t, value(t, s, "number")); got != 2*each*times {
		t.Errorf("counted %d, want %d", got, 2*each*times)
	}
}

// Python resets a lock that Go holds: the lease ends at its next renewal.
func TestInteropPythonResets(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	for _, command := range []string{"reset job", "reset_all"} {
		t.Run(command, func(t *testing.T) {
			events := locks.NewEvents()
			s, c, python := interop(t, &lock.Options{TTL: ttl, Hooks: events.Hooks()})
			lease := acquire(t, c.Mutex("job"))
			if fence := value(t, s, "lock-fence:job"); fence == "" {
				t.Error("no fence")
			}
			wait := locks.Later(soon(t), locks.Met(t, s.URL(), nil).Mutex("job"))
			s.Blocked(t, 1)
			reset := time.Now()
			python.Tell(t, "%s", command)
			python.Says(t, "reset")
			next, _ := locks.Got(t, wait)
			lost := await(t, "Lost", events.Lost)
			t.Logf("told after %v", locks.Took(t, "to be told", reset, time.Now(), ttl/3+ttl/6+locks.Slack))
			locks.Is(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
			locks.Is(t, "Unlock", lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
			if next.Fence() <= lease.Fence() {
				t.Errorf("fences: %d, after the reset %d", lease.Fence(), next.Fence())
			}
			unlock(t, next)
		})
	}
}

// Go resets a lock that Python holds: a Python that waits for it is woken, and the one that held it
// cannot release it any more.
func TestInteropGoResets(t *testing.T) {
	for _, c := range []struct {
		name  string
		reset func(ctx context.Context, c *lock.Client) error
	}{
		{"Reset", func(ctx context.Context, c *lock.Client) error {
			_, held, err := c.Reset(ctx, "job")
			if !held {
				err = errors.Join(err, errors.New("it was not held"))
			}
			return err
		}},
		{"ResetAll", func(ctx context.Context, c *lock.Client) error {
			owners, err := c.ResetAll(ctx, lock.Filter{All: true})
			if len(owners) != 1 || owners[0].Name != "job" {
				err = errors.Join(err, errors.New("it was not among those"))
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client, holder := interop(t, nil)
			holder.Tell(t, "lock job -")
			holder.Says(t, "locked")
			waiter := peer.Python(t, s)
			waiter.Tell(t, "wait job -")
			waiter.Says(t, "waiting")
			s.Blocked(t, 1)
			if err := c.reset(soon(t), client); err != nil {
				t.Fatal(err)
			}
			id := waiter.Says(t, "acquired")
			holder.Tell(t, "unlock job")
			holder.Says(t, "not held")
			if got := value(t, s, "lock:job"); got != id {
				t.Errorf("the lock holds %q, want %q", got, id)
			}
		})
	}
}

// A Python that waits without expire sleeps until somebody gives a signal: at the end of a Block, and when
// a lock is reset that became free without one.
func TestInteropPythonWaitsWithoutExpire(t *testing.T) {
	for what, wake := range map[string]func(t *testing.T, s *redistest.Server, c *lock.Client) time.Time{
		"block ends": func(t *testing.T, _ *redistest.Server, c *lock.Client) time.Time {
			block(t, c, time.Second)
			return time.Now().Add(time.Second)
		},
		"reset of a free lock": func(t *testing.T, s *redistest.Server, c *lock.Client) time.Time {
			s.Do(t, "DEL", "lock:job") // as if the one who holds it had died, and its time were up
			if _, held, err := c.Reset(soon(t), "job"); err != nil || held {
				t.Errorf("Reset: %v, %v", held, err)
			}
			return time.Now()
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, c, python := interop(t, nil)
			block(t, c, time.Minute)
			python.Tell(t, "wait job -")
			python.Says(t, "waiting")
			s.Blocked(t, 1)
			free := wake(t, s, c)
			id := python.Says(t, "acquired")
			t.Logf("acquired after %v", locks.Took(t, "the wake-up", free, time.Now(), locks.Slack))
			if got := value(t, s, "lock:job"); got != id {
				t.Errorf("the lock holds %q, want %q", got, id)
			}
		})
	}
}

// ResetAll by label leaves Python's locks alone.
func TestInteropResetAllByLabel(t *testing.T) {
	s, c, python := interop(t, &lock.Options{Label: "importer"})
	python.Tell(t, "lock theirs -")
	id := python.Says(t, "locked")
	lease := acquire(t, c.Mutex("ours"))
	owners, err := c.ResetAll(soon(t), lock.Filter{Label: "importer"})
	if err != nil || len(owners) != 1 || owners[0].Name != "ours" {
		t.Errorf("ResetAll: %v, %v", owners, err)
	}
	if got := value(t, s, "lock:theirs"); got != id {
		t.Errorf("Python's lock holds %q, want %q", got, id)
	}
	locks.Is(t, "Unlock", lease.Unlock(soon(t)), lock.ErrNotHeld)
}

// Python extends a lock that Go holds, by its id. Go's renewal leaves the longer TTL alone.
func TestInteropPythonExtends(t *testing.T) {
	events := locks.NewEvents()
	s, c, python := interop(t, &lock.Options{TTL: time.Second, Hooks: events.Hooks()})
	lease := acquire(t, c.Mutex("job"))
	python.Tell(t, "extend job 600 %s", lease.ID())
	python.Says(t, "extended")
	if pttl := s.Do(t, "PTTL", "lock:job").(int64); pttl < 500_000 {
		t.Errorf("%d ms left after Python's extend", pttl)
	}
	for range 4 { // the first sees it, and the next sets right what nobody here asked for
		events.RenewedNow(t)
	}
	if pttl := s.Do(t, "PTTL", "lock:job").(int64); pttl > 1000 {
		t.Errorf("%d ms left after Go's renewals", pttl)
	}
	unlock(t, lease)
}

// A Go lock with a TTL below a second, which Python cannot express, is waited for by Python.
func TestInteropSubSecondTTL(t *testing.T) {
	events := locks.NewEvents()
	s, c, python := interop(t, &lock.Options{TTL: 600 * time.Millisecond, Hooks: events.Hooks()})
	lease := acquire(t, c.Mutex("job"))
	python.Tell(t, "wait job 20")
	python.Says(t, "waiting")
	s.Blocked(t, 1)
	events.RenewedNow(t)
	if !lease.Valid() {
		t.Errorf("lost: %v", lease.Err())
	}
	unlock(t, lease)
	id := python.Says(t, "acquired")
	if got := value(t, s, "lock:job"); got != id {
		t.Errorf("the lock holds %q, want %q", got, id)
	}
}

// The state that Go leaves behind is Python's.
func TestInteropSameStateAfterRelease(t *testing.T) {
	s, c, python := interop(t, nil)
	unlock(t, acquire(t, c.Mutex("go")))
	python.Tell(t, "lock python 20")
	python.Says(t, "locked")
	python.Tell(t, "unlock python")
	python.Says(t, "unlocked")
	ours, theirs := s.Dump(t, "lock:go", "lock-signal:go"), s.Dump(t, "lock:python", "lock-signal:python")
	if len(ours) > 1 || len(theirs) > 1 { // the signals expire after 1 s
		t.Fatalf("left behind: %v, %v", ours, theirs)
	}
	for name, state := range map[string]map[string]redistest.Key{"go": ours, "python": theirs} {
		for key, value := range state {
			list, _ := value.Value.([]string)
			if key != "lock-signal:"+name || len(list) != 1 || list[0] != "1" || value.PTTL > 1000 || value.PTTL < 0 {
				t.Errorf("%s left %s: %+v", name, key, value)
			}
		}
	}
}
