package faults_test

import (
	"net"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
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
	holder := locks.Met(t, s.URL(), nil)
	jobs := []string{"first", "second", "third"}
	for _, job := range jobs {
		s.Do(t, "SET", "lock:"+job, "the first holder", "PX", 60_000)
		go func() { _, _ = ghost.Mutex(job).Lock(t.Context()) }() // the context ends with the test
	}
	s.Blocked(t, 1)
	redistest.Until(t, "all are read", func() bool {
		return locks.Waiting(t, s) == len(jobs)
	})
	pythons := map[string]*peer.Process{}
	for _, job := range jobs {
		pythons[job] = peer.Python(t, s)
		pythons[job].Tell(t, "wait %s -", job)
		pythons[job].Says(t, "waiting")
	}
	s.Blocked(t, 1+len(jobs))
	space.Cut(t)

	eaten := 0
	for _, job := range jobs {
		for blocked := s.BlockedNow(t); ; eaten++ {
			if _, held, err := holder.Reset(locks.Soon(t), job); !held || err != nil {
				t.Fatalf("Reset: %v, %v", held, err)
			}
			if woken(t, s, job) {
				break
			}
			if s.BlockedNow(t) == blocked {
				t.Fatal("nobody was woken")
			}
			blocked--
			s.Do(t, "SET", "lock:"+job, "the next holder", "PX", 60_000)
		}
		pythons[job].Says(t, "acquired")
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
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); locks.Pause(5 * time.Millisecond) {
		if s.Do(t, "EXISTS", "lock:"+job) == int64(1) {
			return true
		}
	}
	return false
}
