package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 25: Redis needs the memory, and evicts the lock. The holder is told at its next renewal.
func TestFaultEvicted(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	s := locks.Server(t, "maxmemory-policy volatile-random")
	events := locks.NewEvents()
	holder := locks.Open(t, s.URL(), &lock.Options{TTL: ttl, Hooks: events.Hooks()})
	lease := locks.Acquire(t, holder.Mutex("job"))
	events.RenewedNow(t)
	s.Do(t, "CONFIG", "SET", "maxmemory", "1")
	redistest.Until(t, "it is evicted", func() bool { return locks.Value(t, s, "lock:job") == "" })
	evicted := time.Now()
	lost := locks.Await(t, "Lost", events.Lost)
	t.Logf("told after %v", locks.Took(t, "to be told", evicted, time.Now(), ttl/3+ttl/6+locks.Slack))
	locks.Is(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
	locks.Is(t, "Unlock", lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
}

// A key that became something else ends the lease at the next renewal, not when its time is up.
func TestFaultKeyBecomesSomethingElse(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	c := locks.Met(t, s.URL(), &lock.Options{TTL: 900 * time.Millisecond})
	for what, learn := range map[string]func(*lock.Lease){
		"renewal": func(lease *lock.Lease) { locks.Await(t, "the loss", lease.Done()) },
		"Extend": func(lease *lock.Lease) {
			if err := lease.Extend(locks.Soon(t), time.Minute); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Extend: %v", err)
			}
		},
	} {
		lease := locks.Acquire(t, c.Mutex(what))
		s.Do(t, "DEL", "lock:"+what)
		s.Do(t, "SADD", "lock:"+what, "x")
		learn(lease)
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrWrongType) {
			t.Errorf("%s: Err %v", what, err)
		}
		if time.Until(lease.Deadline()) <= 0 {
			t.Errorf("%s: told only when its time was up", what)
		}
	}
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
			if was, held, err := operator.Reset(locks.Soon(t), "job"); !held || err != nil || was.Label == "" {
				t.Errorf("Reset: %v, %v, %v", was, held, err)
			}
		}, ""},
		{"overwritten", func(t *testing.T, s *redistest.Server, _ *lock.Client) {
			s.Do(t, "SET", "lock:job", "foreign")
		}, "foreign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			events := locks.NewEvents()
			holder := locks.Open(t, s.URL(), &lock.Options{TTL: ttl, Hooks: events.Hooks()})
			lease := locks.Acquire(t, holder.Mutex("job"))
			ctx, cancel := lease.Context(context.Background())
			defer cancel()
			events.RenewedNow(t) // there is a connection
			operator := locks.Met(t, s.URL(), nil)
			began := time.Now()
			c.take(t, s, operator)
			locks.Await(t, "the context's end", ctx.Done())
			took := locks.Took(t, "to be told", began, time.Now(), ttl/3+ttl/6+locks.Slack)
			t.Logf("told after %v", took)
			locks.Is(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrNotOwner)
			locks.Is(t, "Unlock", lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
			if got := locks.Value(t, s, "lock:job"); got != c.after {
				t.Errorf("the lock holds %q, want %q", got, c.after)
			}
		})
	}
}
