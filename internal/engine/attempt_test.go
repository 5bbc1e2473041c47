package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
)

// A lease is never handed out if the hook that is told of it does not return. The program can
// neither use it nor give it back, so it ends as one that was dropped.
func TestLeaseWhoseHookDoesNotReturn(t *testing.T) {
	t.Parallel()
	for how, hook := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inmemory.New()
				defer s.Close()
				lost := make(chan error, 1)
				e := open(t, s.Pool(), Options{Events: Events{
					Acquired: func(Acquired) { hook() },
					Lost:     func(l Lost) { lost <- l.Err },
				}})
				defer e.Close()
				go func() {
					defer func() { _ = recover() }()
					_, _ = e.TryLock(context.Background(), want(e, "job"))
				}()
				time.Sleep(time.Minute) // in the bubble: renewals, and the TTL
				if n := e.Stats().Held; n != 0 {
					t.Errorf("%d leases are held", n)
					return
				}
				if err := <-lost; !errors.Is(err, errLeaked) {
					t.Errorf("lost: %v", err)
				}
				if n, err := redis.Int(inspect(t, s).Do("EXISTS", "lock:job")); n != 0 || err != nil {
					t.Errorf("the lock is held still: %v", err)
				}
			})
		})
	}
}
