package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// The release of a lock with a minimum is lost, somebody else gets the lock before the minimum is over,
// and the repeat is answered after it. Then nothing tells whether the minimum was kept, and Unlock says so.
func TestFaultHoldAtLeastLateRepeat(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	c := faultMet(t, p.URL(), nil)
	const least = time.Second
	lease := acquire(t, c.MutexWith("job", &lock.MutexOptions{HoldAtLeast: least}))
	taken := time.Now()
	p.Catch(faultproxy.CutRequest, scripts.Release.SHA1)
	repeat := p.Catch(faultproxy.HoldRequest, scripts.Release.SHA1)
	done := make(chan error, 1)
	go func() { done <- lease.Unlock(soon(t)) }()
	await(t, "the repeat", repeat.Done())

	s.Do(t, "DEL", "lock:job") // as it would expire
	unlock(t, acquire(t, faultMet(t, s.URL(), nil).Mutex("job")))
	<-time.After(time.Until(taken.Add(least + 100*time.Millisecond)))
	repeat.Release()
	if err := await(t, "Unlock", done); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v, want ErrUnknown", err)
	}
}
