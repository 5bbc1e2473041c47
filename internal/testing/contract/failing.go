package contract

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// failing is what holds when things go wrong.
var failing = []check{
	{name: "server hangs", needs: Hanging, alone: true, run: hangs},
	{name: "out of memory", needs: Reconfiguring, alone: true, run: outOfMemory},
	{name: "calls that end at any moment", alone: true, run: endsAnyMoment},
}

// Acquires that are given up at any moment leave nothing held, and what they say is that.
func endsAnyMoment(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{TTL: time.Minute, NoFence: true})
	m := c.Mutex(name)
	e.release(e.take(m)) // it has a connection from here on
	began := time.Now()
	e.release(e.take(m))
	trips := max(time.Since(began), time.Microsecond)
	unknown := 0
	for range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(trips))
		lease, err := m.TryLock(ctx)
		cancel()
		switch {
		case lease != nil:
			e.release(lease)
		case is(err, lock.ErrHeld): // by one before, whose clean-up is under way
		case !is(err, context.DeadlineExceeded):
			e.Errorf("TryLock: %v", err)
		case is(err, lock.ErrUnknown):
			unknown++
		}
	}
	e.Logf("the outcome of %d was unknown", unknown)
	e.release(e.locked(e.client(nil), name)) // what is left expires in a minute
	_ = c.Close()                            // it has done all cleaning up by then
	e.free(name)
}

// locked waits for a lock that must become free soon.
func (e *env) locked(c *lock.Client, name string) *lock.Lease {
	e.Helper()
	lease, err := c.Mutex(name).Lock(e.soon())
	if err != nil {
		e.Fatalf("Lock: %v", err)
	}
	return lease
}

// A server without memory refuses new locks, and releases those that there are.
func outOfMemory(e *env) {
	held, other := e.name("held"), e.name("other")
	c := e.client(nil)
	lease := e.take(c.Mutex(held))
	setting, _ := e.do("CONFIG", "GET", "maxmemory").([]any)
	if len(setting) != 2 {
		e.Fatalf("CONFIG GET: %v", setting)
	}
	restore := func() { e.do("CONFIG", "SET", "maxmemory", setting[1]) }
	defer restore()
	e.do("CONFIG", "SET", "maxmemory", 1)
	_, err := c.Mutex(other).TryLock(e.soon())
	if err == nil || is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "OOM") {
		e.Errorf("TryLock: %v", err)
	}
	e.release(lease)
	e.free(held)
	restore()
	e.release(e.take(c.Mutex(held)))
	e.release(e.take(c.Mutex(other)))
}
