package contract

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// holding is what a lease promises.
var holding = []check{
	{name: "unlock with a dead context", run: unlockDeadContext},
	{name: "unlock repeatedly and at once", run: unlockOften},
	{name: "unlock of a lost lease", run: unlockLost},
	{name: "context", run: leaseContext},
	{name: "renewal", run: renewal},
	{name: "no renewal", run: noRenewal},
	{name: "lost to nobody", run: lostToNobody},
	{name: "lost to another", run: lostToAnother},
}

func unlockDeadContext(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	if err := lease.Unlock(dead); err != nil {
		e.Errorf("Unlock: %v", err)
	}
	e.free(name)
}

func unlockOften(e *env) {
	m := e.client(nil).Mutex(e.name("job"))
	lease := e.take(m)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { e.release(lease) })
	}
	all.Wait()
	next := e.take(m)
	e.release(lease) // must not touch the next one
	if _, err := m.TryLock(e.soon()); !is(err, lock.ErrHeld) {
		e.Errorf("a repeated Unlock released another lease: %v", err)
	}
	e.release(next)
}

func unlockLost(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	e.do("SET", "lock:"+name, "somebody else", "PX", 60_000)
	for range 2 {
		e.is("Unlock", lease.Unlock(e.soon()), lock.ErrNotHeld, lock.ErrLost)
	}
	if value, _ := e.do("GET", "lock:"+name).([]byte); string(value) != "somebody else" {
		e.Errorf("the other's lock is %q now", value)
	}
	e.do("DEL", "lock:"+name)
}

func leaseContext(e *env) {
	lease := e.take(e.client(nil).Mutex(e.name("job")))
	parent, stop := context.WithCancel(context.Background())
	first, cancel := lease.Context(parent)
	defer cancel()
	second, cancel := lease.Context(context.Background())
	defer cancel()
	stop()
	await(e, "the parent's end", first.Done())
	if second.Err() != nil || !lease.Valid() {
		e.Errorf("more ended than the context of the parent: %v, %v", second.Err(), lease.Err())
	}
	e.release(lease)
	await(e, "the lease's end", second.Done())
	if cause := context.Cause(second); cause != lock.ErrReleased {
		e.Errorf("cause %v", cause)
	}
}

// A lease that is renewed outlives several of its TTLs.
func renewal(e *env) {
	name := e.name("job")
	renewed := make(chan lock.Event, 1000)
	c := e.client(&lock.Options{
		TTL: short, Hooks: lock.Hooks{Renewed: func(e lock.Event) { renewed <- e }},
	})
	lease := e.take(c.Mutex(name))
	end := time.Now().Add(5 * short / 2)
	for until := lease.Deadline(); time.Now().Before(end); {
		i := whileHeld(e, lease, "a renewal", renewed)
		if i.Name != name || !i.Until.After(until) {
			e.Errorf("renewed %+v after %v", i, until)
		}
		until = i.Until
		if e.number("PTTL", "lock:"+name) <= 0 {
			e.Error("the key has no time left")
		}
	}
	if !lease.Valid() {
		e.Errorf("lost: %v", lease.Err())
	}
	e.release(lease)
}

// A lease that is not renewed ends before its key does.
func noRenewal(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{
		TTL: 2 * short, Margin: short, NoRenewal: true,
	}))
	until := lease.Deadline()
	await(e, "the end", lease.Done())
	if e.number("EXISTS", "lock:"+name) != 1 || time.Now().Before(until) {
		e.Error("the lease did not end at its deadline, before its key")
	}
	e.is("Err", lease.Err(), lock.ErrLost)
	e.is("Unlock", lease.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
	e.free(name)
}

// losing runs a check on a lease that loses its lock by what take does.
func losing(e *env, take func(name string)) error {
	name := e.name("job")
	lost := make(chan lock.Event, 10)
	c := e.client(&lock.Options{
		TTL: short, Hooks: lock.Hooks{Lost: func(e lock.Event) { lost <- e }},
	})
	lease := e.take(c.Mutex(name))
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	take(name)
	await(e, "the end of the context", ctx.Done())
	cause := context.Cause(ctx)
	e.is("the cause", cause, lock.ErrLost)
	if i := await(e, "the hook", lost); i.Name != name || i.Err.Error() != cause.Error() {
		e.Errorf("the hook was told %+v, the cause is %v", i, cause)
	}
	if lease.Valid() || lease.Err().Error() != cause.Error() {
		e.Errorf("Valid %v, Err %v, cause %v", lease.Valid(), lease.Err(), cause)
	}
	e.is("Unlock", lease.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
	return cause
}

// A lost lock is not taken again in silence.
func lostToNobody(e *env) {
	cause := losing(e, func(name string) { e.do("DEL", "lock:"+name) })
	if !strings.Contains(cause.Error(), "nobody") {
		e.Errorf("cause %v", cause)
	}
	e.free(e.name("job"))
}

func lostToAnother(e *env) {
	c := e.labelled("the next one")
	var next *lock.Lease
	cause := losing(e, func(name string) {
		if _, held, err := c.Reset(e.soon(), name); err != nil || !held {
			e.Fatalf("Reset: %v, %v", held, err)
		}
		next = e.take(c.Mutex(name))
	})
	if !strings.Contains(cause.Error(), "the next one") || strings.Contains(cause.Error(), next.ID()) {
		e.Errorf("cause %v; want the owner named, but not the whole id", cause)
	}
	if !next.Valid() {
		e.Errorf("the next one lost it too: %v", next.Err())
	}
	e.release(next)
}
