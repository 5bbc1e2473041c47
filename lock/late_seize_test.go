package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// A Seize has looked who holds the lock, and its second step is on the way for so long that the lock
// belongs to somebody else when it is executed. It takes the lock from nobody.
func TestSeizeExecutedLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		seize func(t *testing.T, m *lock.Mutex, late *faultproxy.Catch)
	}{
		{"given up", func(t *testing.T, m *lock.Mutex, late *faultproxy.Catch) {
			_, err := faultCancelled(t, late, m,
				func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Seize(ctx) })
			faultIs(t, "Seize", err, lock.ErrUnknown, context.Canceled)
		}},
		{"repeated and released", func(t *testing.T, m *lock.Mutex, _ *faultproxy.Catch) {
			lease, err := m.Seize(soon(t))
			if err != nil {
				t.Fatalf("not repeated: %v", err)
			}
			unlock(t, lease)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			robber := faultMet(t, faultWithoutKill(t, s, p), nil)
			first := acquire(t, faultMet(t, s.URL(), nil).Mutex("job"))
			late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
			c.seize(t, robber.Mutex("job"), late)

			_ = first.Unlock(soon(t)) // it was robbed, or not
			second, _ := faultGot(t, faultLock(soon(t), faultMet(t, s.URL(), nil).Mutex("job")))
			log := faultMonitor(t, s)
			late.Release()
			log.shows(t, scripts.Acquire.SHA1, "lock:job")
			if got := value(t, s, "lock:job"); got != second.ID() {
				t.Errorf("the lock holds %q after the late Seize, want %q", got, second.ID())
			}
			if got := faultInt(t, value(t, s, "lock-fence:job")); got != second.Fence() {
				t.Errorf("the fence is %d after the late Seize, want %d", got, second.Fence())
			}
			unlock(t, second)
		})
	}
}

// A faultLog is what a server executes.
type faultLog struct{ conn redis.Conn }

// faultMonitor returns what the server executes from now on.
func faultMonitor(t *testing.T, s *redistest.Server) faultLog {
	t.Helper()
	conn := s.Dial(t, redis.DialReadTimeout(20*time.Second))
	if _, err := conn.Do("MONITOR"); err != nil {
		t.Fatal(err)
	}
	return faultLog{conn}
}

// shows returns when a command was executed that has all of these words in it.
func (l faultLog) shows(t *testing.T, words ...string) {
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
