package locktest_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// HoldAtLeast counts from when Lock returned, also if it took its time to make a lock permanent.
// The simulator found it, by the seed 1148.
func TestMinimumOfALockWithoutExpiry(t *testing.T) {
	for _, ttl := range []time.Duration{30 * time.Second, lock.NoExpiry} {
		t.Run(ttl.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
				s.Delay(400 * time.Millisecond)
				m := a.MutexWith("job", &lock.MutexOptions{TTL: ttl, HoldAtLeast: time.Second})
				lease, err := m.Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s.Delay(0)
				returned := time.Now()
				if err := lease.Unlock(t.Context()); err != nil {
					t.Errorf("Unlock: %v", err)
				}
				next, err := b.Mutex("job").Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if after := time.Since(returned); after < time.Second {
					t.Errorf("TTL %v: another had it after %v", ttl, after)
				}
				_ = next.Unlock(t.Context())
			})
		})
	}
}
