package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// A lease whose acquire was repeated is released once more later, for its first acquire may come late.
// That must not hit whoever adopted the lock and kept its id.
func TestFaultLateReleaseAndAdoption(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, wire.Acquire)
	first := locks.Acquire(t, c.Mutex("job"))
	<-time.After(locks.R + 100*time.Millisecond) // nothing is under way any more
	m := locks.Met(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
	second, err := m.Adopt(locks.Soon(t), first.ID())
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	if err := first.Unlock(locks.Soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the first: %v", err)
	}
	<-time.After(locks.R + 500*time.Millisecond)
	if err := second.Verify(locks.Soon(t)); err != nil {
		t.Errorf("the adopted one: %v", err)
	}
	locks.Unlock(t, second)
}

// Detach waits until nothing can overtake it.
func TestFaultDetachAfterARepeat(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	p.Catch(faultproxy.CutReply, wire.Acquire)
	began := time.Now()
	lease := locks.Acquire(t, c.Mutex("job"))
	short, cancel := context.WithTimeout(locks.Soon(t), 50*time.Millisecond)
	defer cancel()
	if _, err := lease.Detach(short); !errors.Is(err, context.DeadlineExceeded) || !lease.Valid() {
		t.Errorf("Detach in a hurry: %v, valid %v", err, lease.Valid())
	}
	if _, err := lease.Detach(locks.Soon(t)); err != nil {
		t.Errorf("Detach: %v", err)
	}
	if took := time.Since(began); took < locks.R {
		t.Errorf("it took %v", took)
	}
}

// A lease whose acquire was repeated ends while somebody has adopted its lock and kept the id. The
// clean-up of what the first acquire may still take leaves that one alone.
func TestFaultAdoptedWhileOvertaken(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c *lock.Client, first *lock.Lease){
		"unlock": func(t *testing.T, _ *lock.Client, first *lock.Lease) {
			if err := first.Unlock(locks.Soon(t)); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Unlock of the first: %v", err)
			}
		},
		"detach": func(t *testing.T, _ *lock.Client, first *lock.Lease) {
			if err := first.Verify(locks.Soon(t)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Check of the first: %v", err)
			}
			if _, err := first.Detach(locks.Soon(t)); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Detach of the first: %v", err)
			}
		},
		"close": func(_ *testing.T, c *lock.Client, _ *lock.Lease) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			c := locks.Met(t, p.URL(), nil)
			p.Catch(faultproxy.CutReply, wire.Acquire)
			first := locks.Acquire(t, c.Mutex("job"))
			m := locks.Met(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
			second, err := m.Adopt(locks.Soon(t), first.ID())
			if err != nil {
				t.Fatalf("Adopt: %v", err)
			}
			end(t, c, first)
			locks.Pause(locks.R + 500*time.Millisecond)
			if err := second.Verify(locks.Soon(t)); err != nil {
				t.Errorf("the adopted one: %v", err)
			}
			locks.Unlock(t, second)
		})
	}
}

// The first release of a lease whose lock was adopted is lost. The repeat says whose it is, and so that the
// first released nothing.
func TestFaultReleaseOfAnAdoptedLock(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	first := locks.Acquire(t, locks.Met(t, p.URL(), nil).Mutex("job"))
	m := locks.Met(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
	second, err := m.Adopt(locks.Soon(t), first.ID())
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	p.Catch(faultproxy.CutReply, wire.Release)
	if err := first.Unlock(locks.Soon(t)); !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock: %v", err)
	}
	locks.Unlock(t, second)
}
