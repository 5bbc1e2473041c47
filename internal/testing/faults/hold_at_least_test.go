package faults_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// signalled waits until the lock is free and has its signal.
func signalled(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	redistest.Until(t, "the signal is given", func() bool {
		return s.Do(t, "LLEN", "lock-signal:"+name) == int64(1)
	})
	if left := locks.PTTL(t, s, "lock:"+name); left != -2 {
		t.Errorf("it was given %d ms too early", left)
	}
}

// The minimum of a lock ends as much later as its release was on the way, and so does the signal come.
func TestFaultHoldAtLeastSlowRelease(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	for i := range 5 {
		name := fmt.Sprint("job-", i)
		lease := locks.Acquire(t, c.MutexWith(name, &lock.MutexOptions{HoldAtLeast: 500 * time.Millisecond}))
		p.Delay(faultproxy.ToServer, 30*time.Millisecond, "")
		locks.Unlock(t, lease)
		p.Heal()
		s.Do(t, "DEL", "lock-signal:"+name)
		signalled(t, s, name)
	}
}

// Also when only the background learns that the lock was released.
func TestFaultHoldAtLeastUnknownRelease(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	lease := locks.Acquire(t, c.MutexWith("job", &lock.MutexOptions{HoldAtLeast: 5 * time.Second}))
	first := p.Catch(faultproxy.CutReply, wire.Release)
	second := p.Catch(faultproxy.CutReply, wire.Release)
	if err := lease.Unlock(locks.Soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
	locks.Await(t, "the first fault", first.Done())
	locks.Await(t, "the second fault", second.Done())
	redistest.Until(t, "it is kept", func() bool { return locks.Value(t, s, "lock:job") == lease.ID()+"/kept" })
	s.Do(t, "DEL", "lock-signal:job")
	signalled(t, s, "job")
}

// The release of a lock with a minimum is lost, somebody else gets the lock before the minimum is over,
// and the repeat is answered after it. Then nothing tells whether the minimum was kept, and Unlock says so.
func TestFaultHoldAtLeastLateRepeat(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	const least = time.Second
	lease := locks.Acquire(t, c.MutexWith("job", &lock.MutexOptions{HoldAtLeast: least}))
	taken := time.Now()
	p.Catch(faultproxy.CutRequest, wire.Release)
	repeat := p.Catch(faultproxy.HoldRequest, wire.Release)
	done := make(chan error, 1)
	go func() { done <- lease.Unlock(locks.Soon(t)) }()
	locks.Await(t, "the repeat", repeat.Done())

	s.Do(t, "DEL", "lock:job") // as it would expire
	locks.Unlock(t, locks.Acquire(t, locks.Met(t, s.URL(), nil).Mutex("job")))
	<-time.After(time.Until(taken.Add(least + 100*time.Millisecond)))
	repeat.Release()
	if err := locks.Await(t, "Unlock", done); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v, want ErrUnknown", err)
	}
}
