package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// What is executed late must not take the lock from whoever holds it by then.

// A lease whose acquire was repeated ends while somebody has adopted its lock and kept the id. The
// clean-up of what the first acquire may still take leaves that one alone.
func TestFaultAdoptedWhileOvertaken(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c *lock.Client, first *lock.Lease){
		"unlock": func(t *testing.T, _ *lock.Client, first *lock.Lease) {
			if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Unlock of the first: %v", err)
			}
		},
		"detach": func(t *testing.T, _ *lock.Client, first *lock.Lease) {
			if err := first.Check(soon(t)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("Check of the first: %v", err)
			}
			if _, err := first.Detach(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Detach of the first: %v", err)
			}
		},
		"close": func(_ *testing.T, c *lock.Client, _ *lock.Lease) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			c := faultMet(t, p.URL(), nil)
			p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
			first := acquire(t, c.Mutex("job"))
			m := faultMet(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
			second, err := m.Adopt(soon(t), first.ID())
			if err != nil {
				t.Fatalf("Adopt: %v", err)
			}
			end(t, c, first)
			faultPause(faultR + 500*time.Millisecond)
			if err := second.Check(soon(t)); err != nil {
				t.Errorf("the adopted one: %v", err)
			}
			unlock(t, second)
		})
	}
}

// The first release of a lease whose lock was adopted is lost. The repeat says whose it is, and so that the
// first released nothing.
func TestFaultReleaseOfAnAdoptedLock(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	first := acquire(t, faultMet(t, p.URL(), nil).Mutex("job"))
	m := faultMet(t, s.URL(), nil).MutexWith("job", &lock.MutexOptions{KeepID: true})
	second, err := m.Adopt(soon(t), first.ID())
	if err != nil {
		t.Fatalf("Adopt: %v", err)
	}
	p.Catch(faultproxy.CutReply, scripts.Release.SHA1)
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock: %v", err)
	}
	unlock(t, second)
}

// A Reset is executed after its repeat was answered.
func TestFaultResetExecutedLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	other := faultMet(t, s.URL(), nil)
	first := acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, scripts.Reset.SHA1)
	was, held, err := faultMet(t, faultWithoutKill(t, s, p), nil).Reset(soon(t), "job")
	if err != nil || !held || was.Label == "" {
		t.Fatalf("Reset: %v, %v, %v", was, held, err)
	}
	if err := first.Check(soon(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Check of the first: %v", err)
	}
	second := acquire(t, other.Mutex("job"))
	log := faultMonitor(t, s)
	late.Release()
	log.shows(t, scripts.Reset.SHA1, "lock:job")
	if err := second.Check(soon(t)); err != nil {
		t.Errorf("the second: %v", err)
	}
	unlock(t, second)
}

// A Seize under an id that the user chose is executed when somebody else holds the lock.
func TestFaultSeizeByGivenIDExecutedLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	other := faultMet(t, s.URL(), nil)
	first := acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
	m := faultMet(t, faultWithoutKill(t, s, p), nil).MutexWith("job", &lock.MutexOptions{ID: "me"})
	if lease, err := m.Seize(soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Fatalf("Seize: %v, %v", lease, err)
	}
	unlock(t, first)
	second := acquire(t, other.Mutex("job"))
	log := faultMonitor(t, s)
	late.Release()
	log.shows(t, scripts.Acquire.SHA1, "lock:job")
	if err := second.Check(soon(t)); err != nil {
		t.Errorf("the second: %v", err)
	}
	unlock(t, second)
}

// A Block is executed after its repeat found the lock held, and the holder has gone.
func TestFaultBlockExecutedLate(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	other := faultMet(t, s.URL(), nil)
	holder := acquire(t, other.Mutex("job"))
	late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
	err := faultMet(t, faultWithoutKill(t, s, p), nil).Block(soon(t), "job", time.Hour)
	if !errors.Is(err, lock.ErrHeld) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Block: %v", err)
	}
	unlock(t, holder)
	log := faultMonitor(t, s)
	late.Release()
	log.shows(t, scripts.Acquire.SHA1, "lock:job")
	lease, _ := faultGot(t, faultLock(soon(t), other.Mutex("job"))) // it is undone
	unlock(t, lease)
}

// The first attempt of a Block is executed after its repeat had blocked the lock, and somebody has reset
// that since.
func TestFaultBlockExecutedLateAfterAReset(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	other := faultMet(t, s.URL(), nil)
	late := p.Catch(faultproxy.HoldRequest, scripts.Acquire.SHA1)
	c := faultMet(t, faultWithoutKill(t, s, p), nil)
	if err := c.Block(soon(t), "job", time.Hour); err != nil {
		t.Fatalf("Block: %v", err)
	}
	if err := c.Block(soon(t), "job", 2*time.Hour); err != nil {
		t.Errorf("Block again: %v", err)
	}
	if _, held, err := other.Reset(soon(t), "job"); !held || err != nil {
		t.Errorf("Reset: %v, %v", held, err)
	}
	log := faultMonitor(t, s)
	late.Release()
	log.shows(t, scripts.Acquire.SHA1, "lock:job")
	lease, _ := faultGot(t, faultLock(soon(t), other.Mutex("job"))) // it is undone
	unlock(t, lease)
}

// Row 9: the reply to a release is lost, and when the repeat is answered the key would have expired by
// itself. Then nobody knows whether it was released before.
func TestFaultReleaseAfterTheKeysEnd(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{TTL: 1500 * time.Millisecond, NoRenewal: true}))
	p.Catch(faultproxy.HoldReply, scripts.Release.SHA1) // for as long as an operation may take
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
}

// The key has less left when the answer to ExtendBy comes than the answer took: the lease ends.
func TestFaultExtendByOfAKeyThatIsGone(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string][]any{"shortened": {"PEXPIRE", "lock:job", 100}, "made permanent": {"PERSIST", "lock:job"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			c := faultMet(t, p.URL(), nil)
			lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{TTL: time.Minute, NoRenewal: true}))
			s.Do(t, cut[0].(string), cut[1:]...)
			p.Delay(faultproxy.ToClient, 500*time.Millisecond, "")
			if left, err := lease.ExtendBy(soon(t), 10*time.Millisecond); !errors.Is(err, lock.ErrLost) || lease.Valid() {
				t.Errorf("ExtendBy: %v, %v; valid %v", left, err, lease.Valid())
			}
			p.Heal()
		})
	}
}
