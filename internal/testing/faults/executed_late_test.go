package faults_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// What is executed late must not take the lock from whoever holds it by then.

// A Seize has looked who holds the lock, and its second step is on the way for so long that the lock
// belongs to somebody else when it is executed. It takes the lock from nobody.
func TestSeizeExecutedLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		seize func(t *testing.T, m *lock.Mutex, late *faultproxy.Catch)
	}{
		{"given up", func(t *testing.T, m *lock.Mutex, late *faultproxy.Catch) {
			_, err := askAndCancel(t, late, m,
				func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Seize(ctx) })
			locks.Is(t, "Seize", err, lock.ErrUnknown, context.Canceled)
		}},
		{"repeated and released", func(t *testing.T, m *lock.Mutex, _ *faultproxy.Catch) {
			lease, err := m.Seize(locks.Soon(t))
			if err != nil {
				t.Fatalf("not repeated: %v", err)
			}
			locks.Unlock(t, lease)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			robber := locks.Met(t, locks.WithoutKill(t, s, p), nil)
			first := locks.Acquire(t, locks.Met(t, s.URL(), nil).Mutex("job"))
			late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
			c.seize(t, robber.Mutex("job"), late)

			_ = first.Unlock(locks.Soon(t)) // it was robbed, or not
			second, _ := locks.Got(t, locks.Later(locks.Soon(t), locks.Met(t, s.URL(), nil).Mutex("job")))
			log := monitor(t, s)
			late.Release()
			log.shows(t, wire.Acquire, "lock:job")
			if got := locks.Value(t, s, "lock:job"); got != second.ID() {
				t.Errorf("the lock holds %q after the late Seize, want %q", got, second.ID())
			}
			if got := locks.Int(t, locks.Value(t, s, "lock-fence:job")); got != second.Fence() {
				t.Errorf("the fence is %d after the late Seize, want %d", got, second.Fence())
			}
			locks.Unlock(t, second)
		})
	}
}

// A monitorLog is what a server executes.
type monitorLog struct{ conn redis.Conn }

// monitor returns what the server executes from now on.
func monitor(t *testing.T, s *redistest.Server) monitorLog {
	t.Helper()
	conn := s.Dial(t, redis.DialReadTimeout(20*time.Second))
	if _, err := conn.Do("MONITOR"); err != nil {
		t.Fatal(err)
	}
	return monitorLog{conn}
}

// shows returns when a command was executed that has all of these words in it.
func (l monitorLog) shows(t *testing.T, words ...string) {
	t.Helper()
	for {
		line, err := redis.String(l.conn.Receive())
		if err != nil {
			t.Fatalf("a command with %q was not executed: %v", words, err)
		}
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return
		}
	}
}

// A Reset is executed after its repeat was answered.
func TestFaultResetExecutedLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	other := locks.Met(t, s.URL(), nil)
	first := locks.Acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, wire.Reset)
	was, held, err := locks.Met(t, locks.WithoutKill(t, s, p), nil).Reset(locks.Soon(t), "job")
	if err != nil || !held || was.Label == "" {
		t.Fatalf("Reset: %v, %v, %v", was, held, err)
	}
	if err := first.Verify(locks.Soon(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Check of the first: %v", err)
	}
	second := locks.Acquire(t, other.Mutex("job"))
	log := monitor(t, s)
	late.Release()
	log.shows(t, wire.Reset, "lock:job")
	if err := second.Verify(locks.Soon(t)); err != nil {
		t.Errorf("the second: %v", err)
	}
	locks.Unlock(t, second)
}

// A Seize under an id that the user chose is executed when somebody else holds the lock.
func TestFaultSeizeByGivenIDExecutedLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	other := locks.Met(t, s.URL(), nil)
	first := locks.Acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
	m := locks.Met(t, locks.WithoutKill(t, s, p), nil).MutexWith("job", &lock.MutexOptions{ID: "me"})
	if lease, err := m.Seize(locks.Soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Fatalf("Seize: %v, %v", lease, err)
	}
	locks.Unlock(t, first)
	second := locks.Acquire(t, other.Mutex("job"))
	log := monitor(t, s)
	late.Release()
	log.shows(t, wire.Acquire, "lock:job")
	if err := second.Verify(locks.Soon(t)); err != nil {
		t.Errorf("the second: %v", err)
	}
	locks.Unlock(t, second)
}

// A Block is executed after its repeat found the lock held, and the holder has gone.
func TestFaultBlockExecutedLate(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	other := locks.Met(t, s.URL(), nil)
	holder := locks.Acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
	err := locks.Met(t, locks.WithoutKill(t, s, p), nil).Block(locks.Soon(t), "job", time.Hour)
	if !errors.Is(err, lock.ErrHeld) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Block: %v", err)
	}
	locks.Unlock(t, holder)
	log := monitor(t, s)
	late.Release()
	log.shows(t, wire.Acquire, "lock:job")
	lease, _ := locks.Got(t, locks.Later(locks.Soon(t), other.Mutex("job"))) // it is undone
	locks.Unlock(t, lease)
}

// The first attempt of a Block is executed after its repeat had blocked the lock, and somebody has reset
// that since.
func TestFaultBlockExecutedLateAfterAReset(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	other := locks.Met(t, s.URL(), nil)
	late := p.Catch(faultproxy.HoldRequest, wire.Acquire)
	c := locks.Met(t, locks.WithoutKill(t, s, p), nil)
	if err := c.Block(locks.Soon(t), "job", time.Hour); err != nil {
		t.Fatalf("Block: %v", err)
	}
	if err := c.Block(locks.Soon(t), "job", 2*time.Hour); err != nil {
		t.Errorf("Block again: %v", err)
	}
	if _, held, err := other.Reset(locks.Soon(t), "job"); !held || err != nil {
		t.Errorf("Reset: %v, %v", held, err)
	}
	log := monitor(t, s)
	late.Release()
	log.shows(t, wire.Acquire, "lock:job")
	lease, _ := locks.Got(t, locks.Later(locks.Soon(t), other.Mutex("job"))) // it is undone
	locks.Unlock(t, lease)
}
