package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

// Close comes while a lock without expiry is being made permanent. Nobody has its lease yet, so Close does
// not wait for its margin, nobody gets the lease, and the lock is given back.
func TestCloseBeforeALeaseIsHandedOut(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"release": false, "keep": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closeBeforeHandedOut(t, keep)
		})
	}
}

func closeBeforeHandedOut(t *testing.T, keep bool) {
	s := faultServer(t)
	p := faultProxy(t, s)
	var told []string
	c := faultMet(t, p.URL(), &lock.Options{KeepOnClose: keep, Hooks: lock.Hooks{
		Lost:     func(l lock.LostInfo) { told = append(told, "lost "+l.Name) },
		Released: func(r lock.ReleasedInfo) { told = append(told, "released "+r.Name) },
	}})
	reply := p.Catch(faultproxy.HoldReply, scripts.Extend.SHA1)
	m := c.MutexWith("job", &lock.MutexOptions{TTL: lock.NoExpiry, Margin: 10 * time.Second})
	got := make(chan error, 1)
	go func() {
		_, err := m.Lock(context.Background())
		got <- err
	}()
	await(t, "the reply", reply.Done())
	began := time.Now()
	closed := make(chan struct{})
	go func() { defer close(closed); _ = c.Close() }()
	redistest.Until(t, "the lease has ended", func() bool { return c.Stats().Lost == 1 })
	reply.Release()
	if err := await(t, "Lock", got); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("Lock: %v", err)
	}
	await(t, "Close", closed)
	if took := time.Since(began); took > faultR {
		t.Errorf("Close took %v: it waited for the margin of a lease that nobody has", took)
	}
	if n := s.Do(t, "EXISTS", "lock:job"); n != int64(0) {
		t.Error("the lock is still held")
	}
	if len(told) > 0 {
		t.Errorf("hooks tell of a lease that nobody had: %v", told)
	}
}
