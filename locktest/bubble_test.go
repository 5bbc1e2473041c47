package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// bubble runs a test in a bubble, with a server and two clients of it whose locks have the default
// TTL of 30 s and the margin of 1.5 s that goes with it.
func bubble(t *testing.T, test func(t *testing.T, s *locktest.Server, a, b *lock.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		a := s.Client(t, &lock.Options{Label: "host a"})
		b := s.Client(t, &lock.Options{Label: "host b"})
		test(t, s, a, b)
	})
}

// hold takes a lock, which is released at the end of the test, and a context of the lease's.
func hold(t *testing.T, c *lock.Client, name string) (*lock.Lease, context.Context) {
	t.Helper()
	lease := locks.Acquire(t, c.Mutex(name))
	ctx, cancel := lease.Context(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = lease.Unlock(context.Background())
	})
	return lease, ctx
}

// lockLater waits for the lock in a goroutine, releases it, and tells when it came.
func lockLater(t *testing.T, c *lock.Client, name string) <-chan time.Time {
	got := make(chan time.Time, 1)
	go func() {
		lease, err := c.Mutex(name).Lock(t.Context())
		if err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		now := time.Now()
		if err := lease.Unlock(context.Background()); err != nil {
			t.Errorf("Unlock: %v", err)
		}
		got <- now
	}()
	synctest.Wait()
	return got
}

// between checks that something took between least and most.
func between(t *testing.T, what string, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("%s took %v, want %v to %v", what, took, least, most)
	}
}

func TestWaitingInABubble(t *testing.T) {
	bubble(t, func(t *testing.T, _ *locktest.Server, a, b *lock.Client) {
		lease, _ := hold(t, a, "job")
		got := lockLater(t, b, "job")
		time.Sleep(10 * time.Minute)
		if !lease.Valid() {
			t.Fatalf("not renewed: %v", lease.Err())
		}
		began := time.Now()
		if err := lease.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		between(t, "the handover", (<-got).Sub(began), 0, 0)
	})
}

func TestExpire(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		lease, ctx := hold(t, a, "job")
		got := lockLater(t, b, "job")
		time.Sleep(11 * time.Second) // the next renewal is due in 9 s
		began := time.Now()
		s.Expire("job")
		between(t, "the takeover", (<-got).Sub(began), 0, time.Second)
		if ctx.Err() != nil {
			t.Error("told before anybody asked")
		}
		<-ctx.Done()
		between(t, "the telling", time.Since(began), 9*time.Second, 9*time.Second)
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) || context.Cause(ctx).Error() != err.Error() {
			t.Errorf("Err %v, cause %v", err, context.Cause(ctx))
		}
		if err := lease.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("Unlock: %v", err)
		}
		s.Expire("nobody holds this one")
	})
}

// A lease that nobody renews is told by its own clock.
func TestExpireWithoutRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, _ *lock.Client) {
		m := a.MutexWith("job", &lock.MutexOptions{NoRenewal: true})
		began := time.Now()
		lease, err := m.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Expire("job")
		<-lease.Done()
		between(t, "the end", time.Since(began), 28500*time.Millisecond, 28500*time.Millisecond)
		_ = lease.Unlock(t.Context())
	})
}

func TestSteal(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		_, ctx := hold(t, a, "job")
		giveBack := s.Steal("job", time.Hour)
		began := time.Now()
		<-ctx.Done()
		between(t, "the telling", time.Since(began), 10*time.Second, 10*time.Second)
		if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) ||
			!strings.Contains(cause.Error(), "held by thief") {
			t.Errorf("cause %v", cause)
		}

		_, err := b.Mutex("job").TryLock(t.Context())
		var held *lock.HeldError
		if !errors.As(err, &held) || held.Owner.Label != "thief" || held.Owner.TTL != 3590*time.Second {
			t.Errorf("TryLock: %v", err)
		}
		got := lockLater(t, b, "job")
		time.Sleep(20 * time.Minute)
		began = time.Now()
		giveBack()
		between(t, "the handover", (<-got).Sub(began), 0, 0)
		next, _ := hold(t, b, "job")
		giveBack() // must not touch the next one
		if time.Sleep(time.Minute); !next.Valid() {
			t.Errorf("giveBack gave away what is not the thief's: %v", next.Err())
		}
	})
}

// The thief has a fencing token, even if it comes within the same microsecond.
func TestStealFence(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		pool := s.Pool()
		defer pool.Close()
		conn := pool.Get()
		defer conn.Close()
		first, _ := hold(t, a, "job")
		for i, pause := range []time.Duration{0, time.Second} {
			time.Sleep(pause)
			giveBack := s.Steal("job", time.Second)
			token, err := redis.Int64(conn.Do("GET", "lock-fence:job"))
			if err != nil || token != max(first.Fence()+1, time.Now().UnixMicro()) {
				t.Errorf("token %d at %d, %v; before it was %d", token, time.Now().UnixMicro(), err,
					first.Fence())
			}
			giveBack()
			if next, _ := hold(t, b, "job"); next.Fence() <= token {
				t.Errorf("round %d: token %d after %d", i, next.Fence(), token)
			}
		}
	})
}

// A thief that stays for long is remembered for longer.
func TestStealForAYear(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, _ *lock.Client) {
		const year = 366 * 24 * time.Hour
		s.Steal("job", year)
		time.Sleep(year + time.Second)
		pool := s.Pool()
		defer pool.Close()
		conn := pool.Get()
		defer conn.Close()
		left, err := redis.Int64(conn.Do("PTTL", "lock-fence:job"))
		if want := (year - time.Second).Milliseconds(); err != nil || left != want {
			t.Errorf("%d ms left, %v; want %d", left, err, want)
		}
		hold(t, a, "job")
	})
}

// A lock that the thief has taken before anybody else is just held.
func TestStealWhatNobodyHolds(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, _ *lock.Client) {
		c := s.Client(t, &lock.Options{Prefix: "app:"})
		s.Prefix = "app:"
		s.Steal("job", time.Minute)
		began := time.Now()
		between(t, "its expiry", (<-lockLater(t, c, "job")).Sub(began), time.Minute,
			time.Minute+5*time.Millisecond)
		s.Steal("ever", lock.NoExpiry)
		owner, err := c.Owner(t.Context(), "ever")
		if err != nil || owner.TTL != lock.NoExpiry || owner.Label != "thief" {
			t.Errorf("Owner: %+v, %v", owner, err)
		}
		lease, _ := hold(t, a, "ever") // without the prefix it is another lock
		s.Expire("ever")
		if time.Sleep(time.Minute); !lease.Valid() {
			t.Error("Expire took a lock of another prefix")
		}
	})
}

func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		s.Delay(400 * time.Millisecond)
		began := time.Now()
		lease, ctx := hold(t, a, "job")
		between(t, "TryLock", time.Since(began), 800*time.Millisecond, 1600*time.Millisecond)
		if time.Sleep(10 * time.Minute); ctx.Err() != nil {
			t.Fatalf("a slow Redis has cost the lease: %v", context.Cause(ctx))
		}

		s.Delay(time.Minute)
		until := lease.Deadline()
		_, err := b.Mutex("other").TryLock(t.Context())
		if err == nil || errors.Is(err, lock.ErrHeld) {
			t.Errorf("TryLock: %v", err)
		}
		<-ctx.Done()
		if now := time.Now(); !now.Equal(until) {
			t.Errorf("the lease ended %v after its deadline", now.Sub(until))
		}
		if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) {
			t.Errorf("cause %v", cause)
		}
		s.Delay(-1)
		next, _ := hold(t, b, "other")
		if !next.Valid() {
			t.Errorf("after the delay: %v", next.Err())
		}
	})
}

// What is held back is executed, and comes when the delay ends.
func TestDelayEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		first, _ := hold(t, a, "first")
		s.Delay(time.Hour)
		got := lockLater(t, a, "job")
		began := time.Now()
		time.Sleep(time.Second)
		s.Delay(0)
		between(t, "the reply", (<-got).Sub(began), time.Second, time.Second)
		_, _ = hold(t, b, "job")
		if !first.Valid() {
			t.Error("lost in a second")
		}

		s.Delay(time.Hour)
		_, err := a.Mutex("other").TryLock(t.Context())
		if !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("TryLock without a reply: %v", err)
		}
	})
}

// A holder that is cut off ends before anybody else can have the lock.
func TestDown(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		lease, ctx := hold(t, a, "job")
		got := lockLater(t, b, "job")
		time.Sleep(65 * time.Second) // two TTLs: it is renewed, the last time 5 s ago
		if ctx.Err() != nil {
			t.Fatalf("lost without a fault: %v", context.Cause(ctx))
		}
		until := lease.Deadline()
		s.Down()
		<-ctx.Done()
		ended := time.Now()
		if !ended.Equal(until) {
			t.Errorf("the context ended at %v, the deadline is %v", ended, until)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) ||
			!strings.Contains(cause.Error(), "the server is down") {
			t.Errorf("cause %v", cause)
		}
		s.Up()
		// A margin until the key expires, and a second for the look that finds it.
		between(t, "the takeover", (<-got).Sub(ended), 1500*time.Millisecond, 2500*time.Millisecond)
	})
}

func TestDownAndUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, _ *lock.Client) {
		lease, ctx := hold(t, a, "job")
		stranger := s.Client(t, nil)
		s.Down()
		for what, c := range map[string]*lock.Client{"a client": a, "a new client": stranger} {
			_, err := c.Mutex("other").TryLock(t.Context())
			if err == nil || !strings.Contains(err.Error(), "is down") || errors.Is(err, lock.ErrHeld) {
				t.Errorf("TryLock of %s: %v", what, err)
			}
		}
		if _, err := stranger.Mutex("other").Lock(t.Context()); err == nil {
			t.Error("Lock of a client that never reached the server waits")
		}
		got := lockLater(t, a, "other")
		time.Sleep(25 * time.Second)
		began := time.Now()
		s.Up()
		// A pause of Lock's, up to 200 ms, and one between two dials, a second with what is added
		// at random.
		between(t, "Lock", (<-got).Sub(began), 0, 1500*time.Millisecond)
		if time.Sleep(time.Minute); ctx.Err() != nil {
			t.Errorf("the lease did not survive 25 s: %v", lease.Err())
		}
	})
}

// Faults that are left cost no time when the test ends.
func TestEndWithFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		t.Cleanup(func() { between(t, "closing", time.Since(ended), 0, 1500*time.Millisecond) })
		s := locktest.Start(t)
		c := s.Client(t, nil)
		_, _ = hold(t, c, "job")
		t.Cleanup(func() {
			s.Delay(time.Hour)
			s.Down()
			ended = time.Now()
		})
	})
}

// Renewals of many leases go out in large batches, which a pipe cannot hold.
func TestManyLeasesInABubble(t *testing.T) {
	bubble(t, func(t *testing.T, _ *locktest.Server, a, _ *lock.Client) {
		leases := make([]*lock.Lease, 300)
		for i := range leases {
			leases[i], _ = hold(t, a, fmt.Sprintf("job-%d", i))
		}
		time.Sleep(35 * time.Second)
		for _, lease := range leases {
			if !lease.Valid() {
				t.Fatal(lease.Err())
			}
		}
	})
}
