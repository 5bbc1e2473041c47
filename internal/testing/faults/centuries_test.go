package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 43: a lock that somebody else holds for centuries, or for longer than a duration can say. Its
// waiters look once a second.
func TestFaultHeldForCenturies(t *testing.T) {
	t.Parallel()
	for _, expiry := range [][2]string{{"EX", "9999999999"}, {"PX", "9000000000000000000"}} {
		t.Run(strings.Join(expiry[:], " "), func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			c := locks.Met(t, s.URL(), nil)
			s.Do(t, "SET", "lock:job", "somebody", expiry[0], expiry[1])
			var held *lock.HeldError
			if _, err := c.Mutex("job").TryLock(locks.Soon(t)); !errors.As(err, &held) || held.Owner.TTL < 99*365*24*time.Hour {
				t.Fatalf("TryLock: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			got := locks.Later(ctx, c.Mutex("job"))
			s.Blocked(t, 1)
			before := commandCount(t, s)
			locks.Pause(2 * time.Second)
			commands := commandCount(t, s) - before
			t.Logf("%d commands in 2 s", commands)
			if commands > 10+1 { // one is INFO
				t.Errorf("%d commands in 2 s", commands)
			}
			s.Do(t, "DEL", "lock:job")
			lease, _ := locks.Got(t, got)
			locks.Unlock(t, lease)
		})
	}
}

// commandCount returns how many commands the server has executed, apart from those within scripts.
func commandCount(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	info := string(s.Do(t, "INFO", "commandstats").([]byte))
	var n int64
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		switch name {
		case "evalsha", "eval", "blpop", "info", "ping":
			n += locks.Int(t, calls)
		}
	}
	return n
}
