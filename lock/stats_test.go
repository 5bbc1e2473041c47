package lock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestStats(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: 2 * time.Second})
	if got := c.Stats(); got != (lock.Stats{}) {
		t.Errorf("at first: %+v", got)
	}
	lease := acquire(t, c.Mutex("a"))
	gone := acquire(t, c.Mutex("b"))
	waiter := lockLater(t, soon(t), c, "a")
	blocked(t, s, 1)
	got := c.Stats()
	if got.Held != 2 || got.Acquired != 2 || got.Waiting != 1 || got.Lost != 0 || got.Connections < 2 {
		t.Errorf("held and waited for: %+v", got)
	}
	redistest.Until(t, "both are renewed", func() bool { return c.Stats().Renewals >= 2 })
	s.Do(t, "DEL", "lock:b")
	<-gone.Done()
	unlock(t, lease)
	next := await(t, "the waiter", waiter)
	redistest.Until(t, "the loss is counted", func() bool { return c.Stats().Lost == 1 })
	got = c.Stats()
	if got.Held != 1 || got.Acquired != 3 || got.Waiting != 0 || got.Handovers != 1 {
		t.Errorf("handed over: %+v", got)
	}
	unlock(t, next.Lease)
	_ = c.Close()
	got = c.Stats()
	if got.Held != 0 || got.Acquired != 3 || got.Lost != 1 || got.Connections != 0 {
		t.Errorf("closed: %+v", got)
	}
}

func TestStatsCountRetries(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	lease := acquire(t, c.Mutex("job"))
	if got := c.Stats(); got.Retries != 1 || got.Acquired != 1 {
		t.Errorf("after a repeat: %+v", got)
	}
	unlock(t, lease)
}
