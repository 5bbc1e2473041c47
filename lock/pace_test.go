package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// Trouble that lasts is told as often as is of use, and not with each attempt of each waiter: once at first,
// and then ever more seldom. In a bubble.
func TestTroubleIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const names = 10
		s := locktest.Start(t)
		var retried, broke []time.Duration
		var breaks int
		var down time.Time
		var mu sync.Mutex
		c := s.Client(t, &lock.Options{Hooks: lock.Hooks{
			Retrying: func(e lock.Event) {
				mu.Lock()
				defer mu.Unlock()
				retried = append(retried, time.Since(down))
				if e.Err == nil || e.Times < 1 || !strings.HasPrefix(e.Name, "job-") {
					t.Errorf("told %+v", e)
				}
			},
			Reconnecting: func(e lock.Event) {
				mu.Lock()
				defer mu.Unlock()
				broke, breaks = append(broke, time.Since(down)), breaks+e.Times
			},
		}})
		var all sync.WaitGroup
		for i := range names {
			s.Steal(fmt.Sprint("job-", i), time.Hour)
			all.Go(func() {
				if err := c.Do(t.Context(), fmt.Sprint("job-", i), nothingAtAll); err != nil {
					t.Errorf("Do: %v", err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		down = time.Now()
		s.Down()
		time.Sleep(10*time.Minute - time.Second)
		mu.Lock()
		// At once, after 1, 2, 4, 8, 16 and 32 s more, and then once a minute.
		for what, told := range map[string][]time.Duration{"retries": retried, "breaks": broke} {
			t.Logf("%s told: %v", what, told)
			if len(told) < 14 || len(told) > 2*17 { // of one kind of error, or two
				t.Errorf("%d %s told in 10 minutes", len(told), what)
			}
		}
		if breaks < 10*len(broke) {
			t.Errorf("%d breaks counted", breaks)
		}
		n := len(retried)
		mu.Unlock()

		s.Up()
		time.Sleep(2 * time.Minute)
		down = time.Now()
		s.Down() // is new then
		time.Sleep(5 * time.Second)
		mu.Lock()
		if len(retried) <= n || retried[n] > 2*time.Second {
			t.Errorf("the next time it was told after %v", retried[n:])
		}
		mu.Unlock()
		s.Up()
		for i := range names {
			s.Expire(fmt.Sprint("job-", i))
		}
		all.Wait()
	})
}

func nothingAtAll(context.Context) error { return nil }
