package contract

import (
	"errors"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// taking is what TryLock and Unlock promise.
var taking = []check{
	{name: "scripts lost", alone: true, run: scriptsLost},
	{name: "take and release", run: takeAndRelease},
	{name: "held", run: held},
	{name: "fencing tokens grow", run: fences},
	{name: "what is no lock", run: wrongType},
	{name: "no options", run: noOptions},
}

func takeAndRelease(e *env) {
	name := e.name("job")
	m := e.labelled("contract").Mutex(name)
	before := time.Now()
	lease := e.take(m)
	const ttl = 30 * time.Second // the default
	if end := lease.Deadline(); end.Before(before.Add(ttl/2)) || end.After(time.Now().Add(ttl)) {
		e.Errorf("a new lease ends in %v", time.Until(end))
	}
	if !lease.Valid() || lease.Err() != nil || lease.Name() != name {
		e.Errorf("a new lease: Valid %v, Err %v, Name %q", lease.Valid(), lease.Err(), lease.Name())
	}
	if value, _ := e.do("GET", "lock:"+name).([]byte); string(value) != lease.ID() {
		e.Errorf("the key is %q, the id %q", value, lease.ID())
	}
	if left := e.number("PTTL", "lock:"+name); left <= 0 || left > ttl.Milliseconds() {
		e.Errorf("the key has %d ms left", left)
	}
	released := time.Now()
	e.release(lease)
	signals := e.number("LLEN", "lock-signal:"+name) // they stay for a second
	if signals != 1 && (signals > 1 || time.Since(released) < time.Second) {
		e.Errorf("the release left %d signals", signals)
	}
	await(e, "Done", lease.Done())
	if lease.Valid() || lease.Err() != lock.ErrReleased {
		e.Errorf("after Unlock: Valid %v, Err %v", lease.Valid(), lease.Err())
	}
	e.free(name)
	e.release(e.take(m))
}

func noOptions(e *env) {
	name := e.name("job")
	e.release(e.take(e.backend.Client(e.T, nil).Mutex(name)))
	e.free(name)
}

func held(e *env) {
	name := e.name("job")
	c, other := e.labelled("importer on b"), e.labelled("somebody else")
	lease := e.take(c.MutexWith(name, &lock.MutexOptions{TTL: 10 * time.Second}))
	defer e.release(lease)
	for _, m := range []*lock.Mutex{other.Mutex(name), c.Mutex(name)} {
		_, err := m.TryLock(e.soon())
		e.is("TryLock", err, lock.ErrHeld)
		var held *lock.HeldError
		if !errors.As(err, &held) {
			e.Fatalf("TryLock: %v", err)
		}
		if held.Owner.Name != name || held.Owner.Label != "importer on b" ||
			held.Owner.TTL <= 0 || held.Owner.TTL > 10*time.Second {
			e.Errorf("TryLock: %+v", held)
		}
		secret := lease.ID()[len(lease.ID())-16:]
		if held.Owner.ID != "" || strings.Contains(err.Error(), secret) {
			e.Errorf("the error gives the id away: %v", err)
		}
	}
}

// Tokens grow also when Redis has lost the last one, and when its clock is behind that.
func fences(e *env) {
	name := e.name("job")
	m := e.client(nil).Mutex(name)
	var last int64
	for i := range 20 {
		if i == 5 {
			e.do("DEL", "lock-fence:"+name)
		}
		if i == 10 {
			last += time.Hour.Microseconds()
			e.do("SET", "lock-fence:"+name, last)
		}
		lease := e.take(m)
		if lease.Fence() <= last {
			e.Errorf("token %d after %d", lease.Fence(), last)
		}
		last = lease.Fence()
		if i%3 == 2 {
			e.do("DEL", "lock:"+name)
			_ = lease.Unlock(e.soon())
			continue
		}
		e.release(lease)
	}
}

func wrongType(e *env) {
	name := e.name("config")
	c := e.client(nil)
	e.do("HSET", "lock:"+name, "field", "value")
	for what, try := range map[string]func() error{
		"TryLock": func() error { _, err := c.Mutex(name).TryLock(e.soon()); return err },
		"Lock":    func() error { _, err := c.Mutex(name).Lock(e.soon()); return err },
		"Owner":   func() error { _, err := c.Owner(e.soon(), name); return err },
		"Reset":   func() error { _, _, err := c.Reset(e.soon(), name); return err },
	} {
		err := try()
		e.is(what, err, lock.ErrWrongType)
		if is(err, lock.ErrHeld) {
			e.Errorf("%s says that it is held: %v", what, err)
		}
	}
	if e.number("HLEN", "lock:"+name) != 1 {
		e.Error("what is no lock was touched")
	}
	e.do("DEL", "lock:"+name)
}

// Whatever comes first after Redis lost its scripts works, renewals too.
func scriptsLost(e *env) {
	name := e.name("job")
	renewed := make(chan lock.Event, 1000)
	c := e.client(&lock.Options{
		TTL:   short,
		Hooks: lock.Hooks{Renewed: func(e lock.Event) { renewed <- e }},
	})
	flush := func() { e.do("SCRIPT", "FLUSH") }
	flush()
	lease := e.take(c.Mutex(name))
	flush()
	for range 3 {
		whileHeld(e, lease, "a renewal", renewed)
	}
	flush()
	if err := lease.Extend(e.soon(), 2*short); err != nil {
		e.Errorf("Extend: %v", err)
	}
	flush()
	if _, err := c.Owner(e.soon(), name); err != nil {
		e.Errorf("Owner: %v", err)
	}
	waiter := e.later(e.soon(), nil, name)
	flush()
	e.release(lease)
	next := e.leased(waiter)
	flush()
	if _, held, err := c.Reset(e.soon(), name); err != nil || !held {
		e.Errorf("Reset: %v, %v", held, err)
	}
	_ = next.Unlock(e.soon())
}

// is is errors.Is.
func is(err, want error) bool { return errors.Is(err, want) }
