package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// belief checks that the key outlives what the lease believes in.
func belief(t *testing.T, s *redistest.Server, lease *lock.Lease) {
	t.Helper()
	left := time.Duration(s.Do(t, "PTTL", "lock:job").(int64)) * time.Millisecond
	if believes := time.Until(lease.Deadline()); believes > left {
		t.Errorf("the lease believes in %v, and the key has %v left", believes, left)
	}
}

// Row 42: somebody raised the TTL of the key. It is set right at the next renewal, for short and for long
// TTLs, and at once by what else asks.
func TestFaultTTLRaised(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	c := locks.Met(t, s.URL(), &lock.Options{TTL: 1500 * time.Millisecond})
	short := locks.Acquire(t, c.Mutex("short"))
	s.Do(t, "PEXPIRE", "lock:short", 3_600_000)
	raised := time.Now()
	redistest.Until(t, "the short TTL is right", func() bool {
		return s.Do(t, "PTTL", "lock:short").(int64) <= 1500
	})
	t.Logf("1.5 s: set right after %v", locks.Took(t, "to set it right", raised, time.Now(), 500*time.Millisecond+locks.Slack))
	locks.Unlock(t, short)

	for what, ask := range map[string]func(*lock.Lease) error{
		"Extend":   func(l *lock.Lease) error { return l.Extend(locks.Soon(t), 30*time.Second) },
		"ExtendBy": func(l *lock.Lease) error { _, err := l.ExtendBy(locks.Soon(t), time.Millisecond); return err },
		"Check":    func(l *lock.Lease) error { return l.Verify(locks.Soon(t)) },
	} {
		for _, renewal := range []bool{true, false} {
			m := c.MutexWith(what, &lock.MutexOptions{TTL: 30 * time.Second, NoRenewal: !renewal})
			lease := locks.Acquire(t, m)
			s.Do(t, "PEXPIRE", "lock:"+what, 3_600_000)
			if err := ask(lease); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			redistest.Until(t, "the TTL is right", func() bool {
				return s.Do(t, "PTTL", "lock:"+what).(int64) <= 31_000
			})
			if left := time.Until(lease.Deadline()); left > 30*time.Second {
				t.Errorf("%s: believes in %v", what, left)
			}
			locks.Unlock(t, lease)
		}
	}
}

// An Extend to more waits while a cut is under way, so that it comes after it.
func TestFaultExtendAfterACut(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), &lock.Options{NoRenewal: true})
	lease := locks.Acquire(t, c.Mutex("job"))
	s.Do(t, "PEXPIRE", "lock:job", 3_600_000)
	slow := p.Catch(faultproxy.HoldRequest, wire.Extend, "\r\ncut\r\n")
	extended := make(chan error, 2)
	go func() { extended <- lease.Extend(locks.Soon(t), 30*time.Second) }()
	locks.Await(t, "the cut", slow.Done())
	go func() { extended <- lease.Extend(locks.Soon(t), 2*time.Hour) }()
	locks.Pause(100 * time.Millisecond)
	if len(extended) != 0 {
		t.Errorf("an Extend did not wait: %v", <-extended)
	}
	slow.Release()
	for range 2 {
		if err := locks.Await(t, "Extend", extended); err != nil {
			t.Errorf("Extend: %v", err)
		}
	}
	if left := s.Do(t, "PTTL", "lock:job").(int64); left < 7_100_000 {
		t.Errorf("the key has %d ms left", left)
	}
	belief(t, s, lease)
	locks.Unlock(t, lease)
}

// A cut to which no reply came is in doubt: what it could cut is not asked for, and when it is executed,
// after its connection was closed, it leaves what the lease believes in.
func TestFaultCutInDoubt(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	renewed := make(chan lock.Event, 100)
	c := locks.Met(t, p.URL(), &lock.Options{
		TTL:   900 * time.Millisecond,
		Hooks: lock.Hooks{Renewed: func(e lock.Event) { renewed <- e }},
	})
	lease := locks.Acquire(t, c.Mutex("job"))
	s.Do(t, "PEXPIRE", "lock:job", 3_600_000)
	late := p.Catch(faultproxy.HoldRequest, wire.Extend, "\r\ncut\r\n")
	locks.Await(t, "the renewal that sees it", renewed)
	locks.Await(t, "the cut", late.Done())
	if err := lease.Extend(locks.Soon(t), time.Minute); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("an Extend that a late cut could undo: %v", err)
	}
	if _, err := lease.ExtendBy(locks.Soon(t), time.Minute); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("an ExtendBy that a late cut could undo: %v", err)
	}
	if err := lease.Extend(locks.Soon(t), 800*time.Millisecond); err != nil {
		t.Errorf("Extend to less: %v", err)
	}
	locks.Await(t, "the next cut", renewed)
	redistest.Until(t, "the TTL is right", func() bool {
		return s.Do(t, "PTTL", "lock:job").(int64) <= 900
	})
	s.Do(t, "PEXPIRE", "lock:job", 3_600_000) // once more: so the late one has something to cut
	late.Release()
	redistest.Until(t, "the TTL is right again", func() bool {
		return s.Do(t, "PTTL", "lock:job").(int64) <= 900
	})
	belief(t, s, lease)
	locks.Await(t, "the next renewal", renewed)
	locks.Unlock(t, lease)
}

// The key has less left when the answer to ExtendBy comes than the answer took: the lease ends.
func TestFaultExtendByOfAKeyThatIsGone(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string][]any{"shortened": {"PEXPIRE", "lock:job", 100}, "made permanent": {"PERSIST", "lock:job"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			c := locks.Met(t, p.URL(), nil)
			lease := locks.Acquire(t, c.MutexWith("job", &lock.MutexOptions{TTL: time.Minute, NoRenewal: true}))
			s.Do(t, cut[0].(string), cut[1:]...)
			p.Delay(faultproxy.ToClient, 500*time.Millisecond, "")
			if left, err := lease.ExtendBy(locks.Soon(t), 10*time.Millisecond); !errors.Is(err, lock.ErrLost) || lease.Valid() {
				t.Errorf("ExtendBy: %v, %v; valid %v", left, err, lease.Valid())
			}
			p.Heal()
		})
	}
}
