package lock_test

import (
	"net"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// Row 29: the host of a waiter vanishes while it blocks. Redis does not know, and the next signal goes
// to the ghost: one at most, whatever it waits for. Pythons without expire are behind it, which nothing
// but a signal wakes.
func TestFaultGhostEatsOneSignal(t *testing.T) {
	t.Parallel()
	redistest.Python(t) // before a server is started
	space := redistest.StartNamespace(t, cutUsers...)
	s := space.Server
	ghost := cutClient(t, space, "kills", (&net.Dialer{}).DialContext)
	holder := faultMet(t, s.URL(), nil)
	jobs := []string{"first", "second", "third"}
	for _, job := range jobs {
		s.Do(t, "SET", "lock:"+job, "the first holder", "PX", 60_000)
		go func() { _, _ = ghost.Mutex(job).Lock(t.Context()) }() // the context ends with the test
	}
	faultBlocked(t, s, 1)
	redistest.Until(t, "all are read", func() bool {
		return waiting(t, s, ghost) == len(jobs)
	})
	pythons := map[string]*faultProcess{}
	for _, job := range jobs {
		pythons[job] = interopStart(t, s)
		pythons[job].tell(t, "wait %s -", job)
		pythons[job].says(t, "waiting")
	}
	faultBlocked(t, s, 1+len(jobs))
	space.Cut(t)

	eaten := 0
	for _, job := range jobs {
		for blocked := faultBlockedCount(t, s); ; eaten++ {
			if _, held, err := holder.Reset(soon(t), job); !held || err != nil {
				t.Fatalf("Reset: %v, %v", held, err)
			}
			if woken(t, s, job) {
				break
			}
			if faultBlockedCount(t, s) == blocked {
				t.Fatal("nobody was woken")
			}
			blocked--
			s.Do(t, "SET", "lock:"+job, "the next holder", "PX", 60_000)
		}
		pythons[job].says(t, "acquired")
	}
	t.Logf("%d signals for %d names went to the ghost", eaten, len(jobs))
	if eaten > 1 {
		t.Errorf("%d signals went to the ghost, want one at most", eaten)
	}
	space.Heal(t)
}

// woken reports whether somebody takes the lock that has just become free.
func woken(t *testing.T, s *redistest.Server, job string) bool {
	t.Helper()
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); faultPause(5 * time.Millisecond) {
		if s.Do(t, "EXISTS", "lock:"+job) == int64(1) {
			return true
		}
	}
	return false
}

func faultBlockedCount(t *testing.T, s *redistest.Server) int {
	t.Helper()
	c := s.Dial(t)
	defer c.Close()
	return faultBlockedNow(t, c)
}
