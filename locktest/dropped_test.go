package locktest_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// A program that forgets to unlock can be tested in a bubble: the garbage collector works outside
// of it, and only leaves a note there, which ends the lease.
func TestDroppedInABubble(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]lock.MutexOptions{
		"renewed":        {},
		"not renewed":    {NoRenewal: true},
		"without expiry": {TTL: lock.NoExpiry},
		"with an own id": {ID: "mine"},
		"with a minimum": {HoldAtLeast: time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { dropOne(t, &o) })
		})
	}
}

// dropOne drops a lease, and waits for what is told of it.
func dropOne(t *testing.T, o *lock.MutexOptions) {
	leaked, lost := make(chan lock.Event, 1), make(chan lock.Event, 1)
	s := locktest.Start(t)
	c := s.Client(t, &lock.Options{Hooks: lock.Hooks{
		Leaked: func(e lock.Event) { leaked <- e },
		Lost:   func(e lock.Event) { lost <- e },
	}})
	done := func() <-chan struct{} {
		lease, err := c.MutexWith("job", o).TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, _ := lease.Context(context.Background())
		_ = ctx
		return lease.Done()
	}()
	runtime.GC()
	<-done
	if i := <-lost; i.Name != "job" || !errors.Is(i.Err, lock.ErrLost) {
		t.Errorf("Lost was told %+v", i)
	}
	// The collector's clean-up takes real time, in which a renewed lease goes on; any other may end
	// first.
	if !o.NoRenewal {
		if i := <-leaked; i.Name != "job" {
			t.Errorf("Leaked was told %+v", i)
		}
	}
	if err := c.Do(t.Context(), "job", func(context.Context) error { return nil }); err != nil {
		t.Error(err) // it was left to expire
	}
}

// One that nobody has noticed when the test ends is ended by its client's end.
func TestDroppedAtTheEndOfABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := locktest.Client(t)
		for _, name := range []string{"a", "b"} {
			if _, err := c.Mutex(name).TryLock(t.Context()); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
		}
	})
	runtime.GC() // when the bubble is gone
}
