package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// signalled waits until the lock is free and has its signal.
func signalled(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	redistest.Until(t, "the signal is given", func() bool {
		return s.Do(t, "LLEN", "lock-signal:"+name) == int64(1)
	})
	if left := pttl(t, s, "lock:"+name); left != -2 {
		t.Errorf("it was given %d ms too early", left)
	}
}

// The minimum of a lock ends as much later as its release was on the way, and so does the signal come.
func TestFaultHoldAtLeastSlowRelease(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	for i := range 5 {
		name := fmt.Sprint("job-", i)
		lease := acquire(t, c.MutexWith(name, &lock.MutexOptions{HoldAtLeast: 500 * time.Millisecond}))
		p.Delay(faultproxy.ToServer, 30*time.Millisecond, "")
		unlock(t, lease)
		p.Heal()
		s.Do(t, "DEL", "lock-signal:"+name)
		signalled(t, s, name)
	}
}

// Also when only the background learns that the lock was released.
func TestFaultHoldAtLeastUnknownRelease(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{HoldAtLeast: 5 * time.Second}))
	first := p.Catch(faultproxy.CutReply, scripts.Release.SHA1)
	second := p.Catch(faultproxy.CutReply, scripts.Release.SHA1)
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
	await(t, "the first fault", first.Done())
	await(t, "the second fault", second.Done())
	redistest.Until(t, "it is kept", func() bool { return value(t, s, "lock:job") == lease.ID()+"/kept" })
	s.Do(t, "DEL", "lock-signal:job")
	signalled(t, s, "job")
}

// A lease whose acquire was repeated is released once more later, for its first acquire may come late.
// That must not hit whoever adopted the lock and kept its id.
func TestFaultLateReleaseAndAdoption(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	first := acquire(t, c.Mutex("job"))
	<-time.After(faultR + 100*time.Millisecond) // nothing is under way any more
	m := faultMet(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
	second, err := m.Adopt(soon(t), first.ID())
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the first: %v", err)
	}
	<-time.After(faultR + 500*time.Millisecond)
	if err := second.Check(soon(t)); err != nil {
		t.Errorf("the adopted one: %v", err)
	}
	unlock(t, second)
}

// A lock under a given id that was granted too late is not found to be held by somebody else.
func TestFaultGivenIDTooLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	held := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	done := make(chan error, 1)
	go func() {
		m := c.MutexWith("job", &lock.MutexOptions{ID: "mine", MaxHold: 50 * time.Millisecond})
		done <- errOf(m.Lock(soon(t)))
	}()
	await(t, "the fault", held.Done())
	<-time.After(100 * time.Millisecond)
	held.Release()
	err := await(t, "Lock", done)
	if err == nil || errors.Is(err, lock.ErrAlreadyHeld) {
		t.Errorf("Lock: %v", err)
	}
	redistest.Until(t, "it is cleaned up", func() bool { return value(t, s, "lock:job") == "" })
}

// Whoever holds the lock under the id is told so, even if others wait in this process.
func TestGivenIDBehindOthers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	m := c.MutexWith("job", &lock.MutexOptions{ID: "mine"})
	lease := acquire(t, m)
	waiter := lockLater(t, soon(t), c, "job")
	redistest.Until(t, "it waits", func() bool { return c.Stats().Waiting == 1 })
	if _, err := m.Lock(soon(t)); !errors.Is(err, lock.ErrAlreadyHeld) {
		t.Errorf("Lock: %v", err)
	}
	unlock(t, lease)
	unlock(t, await(t, "the waiter", waiter).lease)
}

// A lock without expiry whose release is refused for good is left to expire.
func TestNoExpiryRefusedRelease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: lock.NoExpiry})
	lease := acquire(t, c.Mutex("job"))
	s.Do(t, "ACL", "SETUSER", "default", "-del")
	if err := lease.Unlock(soon(t)); err == nil || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
	redistest.Until(t, "it can expire", func() bool { return pttl(t, s, "lock:job") > 0 })
	s.Do(t, "ACL", "SETUSER", "default", "+del")
}

// What is acquired while the client is closed is released, too.
func TestCloseWhileAcquiring(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for round := range 60 {
		c := open(t, s, &lock.Options{Margin: 10 * time.Millisecond})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := 0; ; n++ {
					_, err := c.Mutex(fmt.Sprintf("job-%d-%d-%d", round, i, n)).TryLock(context.Background())
					if errors.Is(err, lock.ErrClosed) {
						return
					}
				}
			})
		}
		redistest.Until(t, "some are held", func() bool { return c.Stats().Held > 20 })
		_ = c.Close()
		all.Wait()
		if left := s.Keys(t, "lock:*"); len(left) != 0 {
			t.Fatalf("round %d: %d locks are left, such as %q", round, len(left), left[0])
		}
	}
}

// A lock that turns out to be lost when it is detached is told as lost.
func TestDetachTellsOfTheLoss(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	lost := make(chan lock.LostInfo, 1)
	c := open(t, s, &lock.Options{Hooks: lock.Hooks{Lost: func(i lock.LostInfo) { lost <- i }}})
	lease := acquire(t, c.Mutex("job"))
	s.Do(t, "DEL", "lock:job")
	s.Do(t, "RPUSH", "lock:job", "x")
	id, err := lease.Detach(soon(t))
	if id != "" || !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrWrongType) {
		t.Errorf("Detach: %q, %v", id, err)
	}
	if i := await(t, "Lost", lost); i.Name != "job" || !errors.Is(i.Err, lock.ErrLost) {
		t.Errorf("told %+v", i)
	}
	if stats := c.Stats(); stats.Lost != 1 || stats.Held != 0 {
		t.Errorf("the stats are %+v", stats)
	}
}

// Detach waits until nothing can overtake it.
func TestFaultDetachAfterARepeat(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	began := time.Now()
	lease := acquire(t, c.Mutex("job"))
	short, cancel := context.WithTimeout(soon(t), 50*time.Millisecond)
	defer cancel()
	if _, err := lease.Detach(short); !errors.Is(err, context.DeadlineExceeded) || !lease.Valid() {
		t.Errorf("Detach in a hurry: %v, valid %v", err, lease.Valid())
	}
	if _, err := lease.Detach(soon(t)); err != nil {
		t.Errorf("Detach: %v", err)
	}
	if took := time.Since(began); took < faultR {
		t.Errorf("it took %v", took)
	}
}
