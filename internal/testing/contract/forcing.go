package contract

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// forcing is what taking over, blocking and asking how a lock stands promise.
var forcing = []check{
	{name: "seize", run: seize},
	{name: "seize what is free", run: seizeFree},
	{name: "block", run: block},
	{name: "block again", run: blockAgain},
	{name: "block ends by itself", run: blockEnds},
	{name: "owner and locked", run: ownerAndLocked},
}

// Who held it is told at its next renewal, and who waits goes on waiting.
func seize(e *env) {
	name := e.name("job")
	first := e.take(e.client(&lock.Options{TTL: short}).Mutex(name))
	waiter := e.later(e.soon(), nil, name)
	next, err := e.client(nil).Mutex(name).Seize(e.soon())
	if err != nil {
		e.Fatalf("Seize: %v", err)
	}
	if next.Fence() <= first.Fence() || next.ID() == first.ID() {
		e.Errorf("seized with token %d and id %q after %d and %q", next.Fence(), next.ID(),
			first.Fence(), first.ID())
	}
	await(e, "the first one's end", first.Done())
	e.is("Err", first.Err(), lock.ErrLost)
	e.is("Unlock", first.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
	if value, _ := e.do("GET", "lock:"+name).([]byte); string(value) != next.ID() || !next.Valid() {
		e.Errorf("the key is %q, the lease: %v", value, next.Err())
	}
	if len(waiter) > 0 {
		e.Error("a waiter has got it too")
	}
	e.release(next)
	e.release(e.leased(waiter))
}

func seizeFree(e *env) {
	name := e.name("job")
	m := e.client(nil).Mutex(name)
	lease, err := m.Seize(e.soon())
	if err != nil {
		e.Fatalf("Seize: %v", err)
	}
	_, err = m.TryLock(e.soon())
	e.is("TryLock", err, lock.ErrHeld)
	e.release(lease)
	e.free(name)
	e.do("HSET", "lock:"+name, "not", "a lock")
	_, err = m.Seize(e.soon())
	e.is("Seize of what is no lock", err, lock.ErrWrongType)
	e.do("DEL", "lock:"+name)
}

// Nobody holds a lock that is blocked, and nobody gets it.
func block(e *env) {
	name := e.name("job")
	c, other := e.labelled("the blocker"), e.client(nil)
	if err := c.Block(e.soon(), name, time.Minute); err != nil {
		e.Fatalf("Block: %v", err)
	}
	e.is("Block by another", e.labelled("the blocker").Block(e.soon(), name, time.Hour), lock.ErrHeld)
	_, err := other.Mutex(name).TryLock(e.soon())
	e.is("TryLock", err, lock.ErrHeld)
	o, err := other.Owner(e.soon(), name)
	if err != nil || !o.Kept || o.Label != "the blocker" || o.TTL <= 0 || o.TTL > time.Minute {
		e.Errorf("Owner: %+v, %v", o, err)
	}
	if s := c.Stats(); s.Held != 0 || s.Acquired != 0 {
		e.Errorf("there is a lease: %+v", s)
	}
	filter := lock.Filter{Label: "the blocker", Name: e.mark + "*"}
	if was, err := other.ResetAll(e.soon(), filter); err != nil || len(was) != 0 {
		e.Errorf("ResetAll: %v, %v", was, err)
	}
	_ = c.Close()
	if left := e.number("PTTL", "lock:"+name); left <= 0 {
		e.Errorf("after Close the key has %d ms left", left)
	}
	if _, held, err := other.Reset(e.soon(), name); err != nil || !held {
		e.Errorf("Reset: %v, %v", held, err)
	}
	e.release(e.take(other.Mutex(name)))
	for _, d := range []time.Duration{-1, 0, time.Millisecond, 367 * 24 * time.Hour, lock.NoExpiry} {
		e.is("Block for "+d.String(), other.Block(e.soon(), name, d), lock.ErrInvalid)
	}
}

// The same client prolongs and shortens what it blocks.
func blockAgain(e *env) {
	name := e.name("job")
	c := e.client(nil)
	for _, d := range []time.Duration{time.Minute, time.Hour, 2 * time.Second, year} {
		if err := c.Block(e.soon(), name, d); err != nil {
			e.Fatalf("Block for %v: %v", d, err)
		}
		e.within("the key's TTL", e.left(name), d)
	}
	if _, held, err := c.Reset(e.soon(), name); err != nil || !held {
		e.Errorf("Reset: %v, %v", held, err)
	}
	e.do("DEL", "lock-signal:"+name)
	lease := e.take(c.MutexWith(name, &lock.MutexOptions{HoldAtLeast: time.Minute}))
	e.is("Block of what is held", c.Block(e.soon(), name, time.Second), lock.ErrHeld)
	e.release(lease)
	e.is("Block of what is kept", c.Block(e.soon(), name, time.Second), lock.ErrHeld)
}

func blockEnds(e *env) {
	name := e.name("job")
	const d = 700 * time.Millisecond
	began := time.Now()
	if err := e.client(nil).Block(e.soon(), name, d); err != nil {
		e.Fatalf("Block: %v", err)
	}
	lease := e.locked(e.client(nil), name)
	if took := time.Since(began); took < d-10*time.Millisecond {
		e.Errorf("got it after %v", took)
	}
	e.release(lease)
}

// states are how a lock can stand: free, held for a time, held without expiry.
var states = []struct {
	set         []any         // behind SET and the key; none for no lock
	least, most time.Duration // of what is left
	want        error         // of Owner; nil if it is held
}{
	{nil, 0, 0, lock.ErrNotHeld},
	{[]any{"somebody", "PX", 60_000}, time.Second, time.Minute, nil},
	{[]any{"somebody"}, lock.NoExpiry, lock.NoExpiry, nil},
}

func ownerAndLocked(e *env) {
	name := e.name("job")
	c := e.client(nil)
	for _, s := range states {
		e.do("DEL", "lock:"+name)
		if s.set != nil {
			e.do("SET", append([]any{"lock:" + name}, s.set...)...)
		}
		o, err := c.Owner(e.soon(), name)
		if !errors.Is(err, s.want) || o.TTL < s.least || o.TTL > s.most {
			e.Errorf("%v: Owner %+v, %v", s.set, o, err)
		}
		locked, err := c.Locked(e.soon(), name)
		if held := s.want == nil; err != nil || locked != held {
			e.Errorf("%v: Locked %v, %v; want %v", s.set, locked, err, held)
		}
	}
	e.do("DEL", "lock:"+name)
	e.do("HSET", "lock:"+name, "not", "a lock")
	_, err := c.Locked(e.soon(), name)
	e.is("Locked of what is no lock", err, lock.ErrWrongType)
	e.do("DEL", "lock:"+name)
}
