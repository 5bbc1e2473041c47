package redistest

import (
	"testing"
	"time"
)

// Until waits for something that gives no event to wait for: it asks every few milliseconds, for
// 10 seconds at most. What did not come true ends the test.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	Within(t, 10*time.Second, what, done)
}

// Within is Until with a limit of its own.
func Within(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	if !poll(limit, done) {
		t.Fatalf("after %v still not: %s", limit, what)
	}
}

// poll asks until done says true, and at the end of the limit for the last time.
func poll(limit time.Duration, done func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if done() {
			return true
		}
	}
	return done()
}
