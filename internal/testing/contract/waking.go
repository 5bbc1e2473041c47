package contract

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// waking is by what waiters are woken.
var waking = []check{
	{name: "woken by the signal", needs: Blocking, run: wokenBySignal},
	{name: "woken by the timer", run: wokenByTimer},
	{name: "connections cut", needs: ClientList, run: connectionsCut},
}

// A waiter looks every 0.9 s whether its lock is free, and would get it by that alone. So the checks of
// what wakes it free the lock right after a look: who depends on looks takes most of a second then.
//
// The fastest of several tells which it was. That is no test of speed: a machine that is busy makes
// some of them late, or all of them a little; but if none comes well before the next look, then it was
// the look.
const (
	tries    = 5
	notALook = 500 * time.Millisecond
)

// wokenBySignal releases locks as soon as the register shows their waiters: it is written by looks.
func wokenBySignal(e *env) {
	prefix := e.mark + ":"
	holder := e.client(&lock.Options{Prefix: prefix})
	leases := map[string]*lock.Lease{}
	waiters := map[string]<-chan time.Time{}
	for _, name := range []string{"1", "2", "3", "4", "5"}[:tries] {
		leases[name] = e.take(holder.Mutex(name))
		waiters[name] = e.granted(e.client(&lock.Options{Prefix: prefix}), name)
	}
	released := map[string]time.Time{}
	redistest.Until(e, "all waiters have looked", func() bool {
		for o, err := range holder.List(e.soon(), lock.Filter{}) {
			if err != nil {
				e.Fatalf("List: %v", err)
			}
			name := o.Name
			if lease := leases[name]; len(o.Waiters) > 0 && lease != nil && released[name].IsZero() {
				released[name] = time.Now()
				e.release(lease)
			}
		}
		return len(released) == tries
	})
	var took []time.Duration
	for name, waiter := range waiters {
		took = append(took, await(e, "the lock", waiter).Sub(released[name]))
	}
	if slices.Min(took) > notALook {
		e.Errorf("handovers took %v: it was not the signal that woke the waiters", took)
	}
}

// wokenByTimer lets keys expire between the first look and the second one, which is too early, and the
// third one.
func wokenByTimer(e *env) {
	const ttl = 1100 * time.Millisecond
	expires := make([]time.Time, tries)
	waiters := make([]<-chan time.Time, tries)
	for i := range tries {
		name := e.name(string(rune('a' + i)))
		before := time.Now()
		e.do("SET", "lock:"+name, "somebody who died", "PX", ttl.Milliseconds())
		expires[i] = before.Add(ttl)
		waiters[i] = e.granted(e.client(nil), name)
	}
	var took []time.Duration
	for i, waiter := range waiters {
		took = append(took, await(e, "the lock", waiter).Sub(expires[i]))
	}
	if slices.Min(took) > notALook {
		e.Errorf("takeovers took %v: it was not their timers that woke the waiters", took)
	}
	if slices.Min(took) < -10*time.Millisecond {
		e.Errorf("takeovers took %v: before the expiry", took)
	}
}

// granted locks in a goroutine, releases, and then tells when it had the lock.
func (e *env) granted(c *lock.Client, name string) <-chan time.Time {
	e.Helper()
	ctx, done := e.soon(), make(chan time.Time, 1)
	go func() { // it ends with its context, or with its client, which ends with the test
		var at time.Time
		err := c.Do(ctx, name, func(context.Context) error {
			at = time.Now()
			return nil
		})
		if err != nil {
			e.Errorf("Do: %v", err)
		}
		done <- at
	}()
	return done
}

// Leases and waiters survive the loss of all their connections.
func connectionsCut(e *env) {
	name, label := e.name("job"), e.mark+" cut"
	renewed := make(chan lock.Event, 1000)
	lease := e.take(e.client(&lock.Options{TTL: 2 * short, Label: label, Hooks: lock.Hooks{
		Renewed: func(e lock.Event) { renewed <- e },
	}}).Mutex(name))
	waiter := e.later(e.soon(), &lock.Options{Label: label}, name)
	for range 2 {
		e.cut(label)
		for len(renewed) > 0 {
			<-renewed
		}
		whileHeld(e, lease, "a renewal", renewed)
	}
	e.cut(label)
	e.release(lease)
	e.release(e.leased(waiter))
}
