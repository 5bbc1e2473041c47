package faults_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
)

// Row 2: a holder is stopped for longer than its TTL. When it goes on it knows at once that it holds
// nothing, it does not touch who holds the lock now, and its fencing token is the smaller one.
func TestFaultHolderStopped(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	holder := peer.Start(t, s.URL())
	holder.Tell(t, "lock 500ms job")
	fence, _, _ := strings.Cut(holder.Says(t, "locked"), " ")
	stale, err := strconv.ParseInt(fence, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	holder.Tell(t, "watch")
	holder.Says(t, "watching")
	holder.Stop(t)

	c := locks.Open(t, s.URL(), nil)
	lease, _ := locks.Got(t, locks.Later(locks.Soon(t), c.Mutex("job")))
	resumed := time.Now()
	holder.Resume(t)
	said := strings.Fields(holder.Says(t, "invalid"))
	locks.Took(t, "to be told", resumed, time.Now(), locks.Slack)
	if said[0] != "0" || said[2] != "true" {
		t.Errorf("%s times valid after the deadline; the cause is ErrLost: %s", said[0], said[2])
	}
	t.Logf("the context ended %s after Valid was false, and that was heard of %v after SIGCONT",
		said[1], time.Since(resumed))
	holder.Tell(t, "unlock")
	if said := holder.Says(t, "unlocked"); !strings.HasPrefix(said, "true true ") {
		t.Errorf("Unlock is ErrNotHeld, is ErrLost: %s", said)
	}
	if got := locks.Value(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	if stale >= lease.Fence() {
		t.Errorf("fences: the stale one %d, the new one %d", stale, lease.Fence())
	}
	locks.Unlock(t, lease)
}
