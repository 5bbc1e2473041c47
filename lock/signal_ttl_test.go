package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// anHour is a signal's TTL that is told from the default in all that happens here.
var anHour = lock.MutexOptions{SignalTTL: time.Hour}

// signalFor fails the test unless the signal of "job" has about an hour left, and takes it away.
func signalFor(t *testing.T, s *redistest.Server, what string) {
	t.Helper()
	if left := pttl(t, s, "lock-signal:job"); left < 3_500_000 || left > 3_600_000 {
		t.Errorf("%s: the signal has %d ms left, want an hour", what, left)
	}
	s.Do(t, "DEL", "lock-signal:job")
}

func TestSignalTTLOfAMutex(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	unlock(t, acquire(t, c.MutexWith("job", &anHour)))
	signalFor(t, s, "Unlock")

	s.Do(t, "SET", "lock:job", "theirs")
	unlock(t, must(c.MutexWith("job", &anHour).Adopt(soon(t), "theirs"))(t))
	signalFor(t, s, "Unlock of what was adopted")

	acquire(t, c.MutexWith("job", &anHour))
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	signalFor(t, s, "Close")
}

// The signal at the end of a minimum is the lease's, too.
func TestSignalTTLAfterAMinimum(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := anHour
	o.HoldAtLeast = time.Second
	unlock(t, acquire(t, open(t, s, nil).MutexWith("job", &o)))
	signalFor(t, s, "Unlock")
	redistest.Until(t, "the minimum's end is signalled", func() bool { return pttl(t, s, "lock-signal:job") > 0 })
	signalFor(t, s, "the end")
}

// So are those of releases in the background: of a lease, and of an acquire whose outcome is not known.
func TestSignalTTLInTheBackground(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	signalled := func() bool { return pttl(t, s, "lock-signal:job") > 0 }

	lease := acquire(t, c.MutexWith("job", &anHour))
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", 1)
	locks.Is(t, "Unlock", lease.Unlock(soon(t)), lock.ErrUnknown)
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", 0)
	redistest.Until(t, "it is released", signalled)
	signalFor(t, s, "Unlock in the background")

	ctx, cancel := context.WithCancel(context.Background())
	held := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	got := locks.Later(ctx, c.MutexWith("job", &anHour))
	await(t, "the acquire", held.Done())
	cancel()
	r := await(t, "Lock", got)
	if !errors.Is(r.Err, lock.ErrUnknown) {
		t.Fatalf("Lock: %v", r.Err)
	}
	p.Heal()
	redistest.Until(t, "it is released", signalled)
	signalFor(t, s, "an acquire that was given up")
}
