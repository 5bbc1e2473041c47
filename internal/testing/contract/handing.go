package contract

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// handing is what handing a lease on promises.
var handing = []check{
	{name: "an id of one's own", run: givenID},
	{name: "detach and adopt", run: detachAndAdopt},
	{name: "detach and release", run: detachAndRelease},
	{name: "adopt and keep the id", run: adoptAndKeep},
	{name: "adopt from who did not detach", run: adoptByForce},
	{name: "adopt what is not held", run: adoptNothing},
}

func givenID(e *env) {
	name := e.name("job")
	c := e.client(nil)
	m := c.MutexWith(name, &lock.MutexOptions{ID: "order 17"})
	lease := e.take(m)
	if lease.ID() != "order 17" {
		e.Errorf("ID %q", lease.ID())
	}
	_, err := m.TryLock(e.soon())
	e.is("TryLock under the same id", err, lock.ErrAlreadyHeld)
	_, err = m.Lock(e.soon())
	e.is("Lock under the same id", err, lock.ErrAlreadyHeld)
	_, err = c.Mutex(name).TryLock(e.soon())
	e.is("TryLock under another id", err, lock.ErrHeld)
	e.release(lease)
	e.release(e.take(m))
}

// detached takes a lock and detaches the lease.
func detached(e *env, name string) (id string, fence int64) {
	lease := e.take(e.labelled("the first").Mutex(name))
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	id, err := lease.Detach(e.soon())
	if err != nil || id != lease.ID() {
		e.Fatalf("Detach: %q, %v", id, err)
	}
	await(e, "the end of the context", ctx.Done())
	if lease.Valid() {
		e.Error("valid after Detach")
	}
	e.is("Err", lease.Err(), lock.ErrDetached)
	e.is("Unlock", lease.Unlock(e.soon()), lock.ErrNotHeld)
	if left := e.number("PTTL", "lock:"+name); left <= 0 {
		e.Errorf("after Detach the key has %d ms left", left)
	}
	return id, lease.Fence()
}

func detachAndAdopt(e *env) {
	name := e.name("job")
	id, fence := detached(e, name)
	worker := e.labelled("the worker")
	m := worker.MutexWith(name, &lock.MutexOptions{TTL: short})
	lease, err := m.Adopt(e.soon(), id)
	if err != nil {
		e.Fatalf("Adopt: %v", err)
	}
	if lease.ID() == id || lease.Fence() <= fence || !lease.Valid() {
		e.Errorf("adopted %q with token %d from %q with %d", lease.ID(), lease.Fence(), id, fence)
	}
	end := time.Now().Add(2 * short) // it is renewed
	for time.Now().Before(end) {
		if o, err := worker.Owner(e.soon(), name); err != nil || o.Label != "the worker" {
			e.Fatalf("Owner: %+v, %v", o, err)
		}
	}
	e.is("ReleaseID of the old id", worker.ReleaseID(e.soon(), name, id), lock.ErrNotHeld)
	e.release(lease)
	e.free(name)
}

func detachAndRelease(e *env) {
	name := e.name("job")
	id, _ := detached(e, name)
	waiter := e.later(e.soon(), nil, name)
	c := e.client(nil)
	e.is("ReleaseID of another id", c.ReleaseID(e.soon(), name, "another"), lock.ErrNotHeld)
	if err := c.ReleaseID(e.soon(), name, id); err != nil {
		e.Errorf("ReleaseID: %v", err)
	}
	e.release(e.leased(waiter))
	e.is("ReleaseID again", c.ReleaseID(e.soon(), name, id), lock.ErrNotHeld)
}

func adoptAndKeep(e *env) {
	name := e.name("job")
	id, fence := detached(e, name)
	m := e.client(nil).MutexWith(name, &lock.MutexOptions{KeepID: true})
	lease, err := m.Adopt(e.soon(), id)
	if err != nil {
		e.Fatalf("Adopt: %v", err)
	}
	if lease.ID() != id || lease.Fence() <= fence {
		e.Errorf("adopted %q with token %d from %q with %d", lease.ID(), lease.Fence(), id, fence)
	}
	e.release(lease)
	e.free(name)
}

// Who held it is told, at its next renewal.
func adoptByForce(e *env) {
	for _, keep := range []bool{false, true} {
		name := e.name("job")
		c := e.client(&lock.Options{TTL: short})
		first := e.take(c.Mutex(name))
		m := e.client(nil).MutexWith(name, &lock.MutexOptions{KeepID: keep})
		next, err := m.Adopt(e.soon(), first.ID())
		if err != nil {
			e.Fatalf("Adopt: %v", err)
		}
		await(e, "the first one's end", first.Done())
		e.is("Err", first.Err(), lock.ErrLost)
		e.is("Unlock", first.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
		e.release(next)
	}
}

func adoptNothing(e *env) {
	name := e.name("job")
	m := e.client(nil).Mutex(name)
	_, err := m.Adopt(e.soon(), "somebody")
	e.is("Adopt of nothing", err, lock.ErrNotHeld)
	lease := e.take(m)
	_, err = m.Adopt(e.soon(), "somebody")
	e.is("Adopt from another id", err, lock.ErrHeld)
	if !lease.Valid() {
		e.Errorf("lost: %v", lease.Err())
	}
	e.release(lease)
}
