package lock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/lock"
)

// A mutex lifts what its client sets: how long a lease is held at most and at least, and that it is not renewed.
func TestMutexLiftsLimits(t *testing.T) {
	t.Parallel()
	client := lock.Options{
		TTL: 10 * time.Second, MaxHold: 5 * time.Second, HoldAtLeast: 4 * time.Second, NoRenewal: true,
	}
	for _, c := range []struct {
		what  string
		mutex lock.MutexOptions
		lives bool // for a minute
		kept  bool // after the release
	}{
		{"all", lock.MutexOptions{MaxHold: lock.None, HoldAtLeast: lock.None, Renew: true}, true, false},
		{"nothing", lock.MutexOptions{}, false, true},
		{"the renewal alone", lock.MutexOptions{Renew: true}, false, true},
		{"the maximum alone", lock.MutexOptions{MaxHold: lock.None}, false, true},
		{"the minimum alone", lock.MutexOptions{HoldAtLeast: lock.None}, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c1, err := embedded.Open(&client)
				if err != nil {
					t.Fatal(err)
				}
				defer c1.Close()
				m := c1.MutexWith("job", &c.mutex)
				lease, err := m.Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := lease.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
				if held, err := c1.Locked(t.Context(), "job"); held != c.kept || err != nil {
					t.Errorf("right after the release it is kept: %v, %v", held, err)
				}
				if lease, err = m.Lock(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if lease.Valid() != c.lives {
					t.Errorf("after a minute it is held: %v", lease.Valid())
				}
			})
		})
	}
}

func TestRenewAndNoRenewal(t *testing.T) {
	t.Parallel()
	c, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.MutexWith("job", &lock.MutexOptions{Renew: true, NoRenewal: true}).TryLock(t.Context())
	if !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("both: %v", err)
	}
}
