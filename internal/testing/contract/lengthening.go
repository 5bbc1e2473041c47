package contract

import (
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// lengthening is what the calls that prolong a lease promise, and the one that only asks.
var lengthening = []check{
	{name: "extend", run: extend},
	{name: "extend by", run: extendBy},
	{name: "renew", run: renew},
	{name: "check a lease", run: checkLease},
	{name: "lengthen what has ended", run: lengthenEnded},
	{name: "lengthen what does not expire", run: lengthenNoExpiry},
}

func extend(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	defer e.release(lease)
	for _, step := range []struct{ ttl, key time.Duration }{
		{time.Minute, time.Minute},
		{10 * time.Second, time.Minute}, // the key only runs down to it
		{2 * time.Minute, 2 * time.Minute},
	} {
		before := time.Now()
		if err := lease.Extend(e.soon(), step.ttl); err != nil {
			e.Fatalf("Extend(%v): %v", step.ttl, err)
		}
		if until := lease.Deadline(); until.Before(before.Add(step.ttl*9/10)) ||
			until.After(time.Now().Add(step.ttl)) {
			e.Errorf("after Extend(%v) the lease ends in %v", step.ttl, time.Until(until))
		}
		e.within("the key's TTL after Extend("+step.ttl.String()+")", e.left(name), step.key)
	}
	for _, ttl := range []time.Duration{0, -time.Second, time.Millisecond, 367 * 24 * time.Hour} {
		e.is("Extend to "+ttl.String(), lease.Extend(e.soon(), ttl), lock.ErrInvalid)
	}
	if !lease.Valid() {
		e.Errorf("an extend that was refused ended the lease: %v", lease.Err())
	}
}

// within checks that a duration is what was wanted, less what has passed meanwhile.
func (e *env) within(what string, got, want time.Duration) {
	e.Helper()
	if got > want || got < want-limit {
		e.Errorf("%s: %v, want %v", what, got, want)
	}
}

// left returns how long a lock's key has left.
func (e *env) left(name string) time.Duration {
	e.Helper()
	return time.Duration(e.number("PTTL", "lock:"+name)) * time.Millisecond
}

// unrenewed takes a lock with a TTL of a minute for a lease that is not renewed.
func (e *env) unrenewed(name string) *lock.Lease {
	e.Helper()
	return e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{TTL: time.Minute, NoRenewal: true}))
}

// What is added is added to what the key has left, whatever that is.
func extendBy(e *env) {
	name := e.name("job")
	lease := e.unrenewed(name)
	left, err := lease.ExtendBy(e.soon(), 10*time.Minute)
	if err != nil {
		e.Fatalf("ExtendBy: %v", err)
	}
	e.within("ExtendBy returns", left, 11*time.Minute)
	e.within("the key's TTL", e.left(name), 11*time.Minute)
	if end := time.Until(lease.Deadline()); end < 10*time.Minute || end > left {
		e.Errorf("the lease ends in %v", end)
	}
	e.do("PEXPIRE", "lock:"+name, 120_000)
	if left, err = lease.ExtendBy(e.soon(), time.Minute); err != nil {
		e.Errorf("ExtendBy: %v", err)
	}
	e.within("ExtendBy returns", left, 3*time.Minute)
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 366 * 24 * time.Hour} {
		_, err := lease.ExtendBy(e.soon(), d)
		e.is("ExtendBy "+d.String(), err, lock.ErrInvalid)
	}
	e.release(lease)
}

// A renewed lease has its full TTL again.
func renew(e *env) {
	name := e.name("job")
	lease := e.unrenewed(name)
	e.do("PEXPIRE", "lock:"+name, 20_000)
	before := lease.Deadline()
	if err := lease.Renew(e.soon()); err != nil {
		e.Errorf("Renew: %v", err)
	}
	e.within("the key's TTL", e.left(name), time.Minute)
	if !lease.Deadline().After(before) {
		e.Errorf("the deadline moved by %v", lease.Deadline().Sub(before))
	}
	e.release(lease)
}

// To ask prolongs nothing.
func checkLease(e *env) {
	name := e.name("job")
	lease := e.unrenewed(name)
	e.do("PEXPIRE", "lock:"+name, 30_000)
	until := lease.Deadline()
	if err := lease.Verify(e.soon()); err != nil {
		e.Errorf("Check: %v", err)
	}
	e.within("the key's TTL", e.left(name), 30*time.Second)
	if !lease.Deadline().Equal(until) || !lease.Valid() {
		e.Errorf("the deadline moved by %v, Valid %v", lease.Deadline().Sub(until), lease.Valid())
	}
	e.release(lease)
}

// longer are the calls that ask Redis about a lease and want more time for it, or not.
var longer = []struct {
	what string
	call func(*env, *lock.Lease) error
}{
	{"Extend", func(e *env, l *lock.Lease) error { return l.Extend(e.soon(), time.Minute) }},
	{"ExtendBy", func(e *env, l *lock.Lease) error { return second(l.ExtendBy(e.soon(), time.Minute)) }},
	{"Renew", func(e *env, l *lock.Lease) error { return l.Renew(e.soon()) }},
	{"Check", func(e *env, l *lock.Lease) error { return l.Verify(e.soon()) }},
}

func second[V any](_ V, err error) error { return err }

// None takes the lock again, or touches what is somebody else's.
func lengthenEnded(e *env) {
	name := e.name("job")
	m := e.client(nil).Mutex(name)
	for _, l := range longer {
		lease := e.take(m)
		e.do("DEL", "lock:"+name)
		for range 2 {
			e.is(l.what+" of a lost lease", l.call(e, lease), lock.ErrLost)
		}
		e.is("Err after "+l.what, lease.Err(), lock.ErrLost)
		e.free(name)
		_ = lease.Unlock(e.soon())

		lease = e.take(m)
		e.do("SET", "lock:"+name, "somebody else", "PX", 30_000)
		e.is(l.what+" of a lost lease", l.call(e, lease), lock.ErrLost)
		e.within("after "+l.what+" the other's TTL", e.left(name), 30*time.Second)
		e.do("DEL", "lock:"+name)
		_ = lease.Unlock(e.soon())

		lease = e.take(m)
		e.release(lease)
		e.is(l.what+" after Unlock", l.call(e, lease), lock.ErrReleased)
	}
}

func lengthenNoExpiry(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{TTL: lock.NoExpiry}))
	for _, l := range longer {
		err := l.call(e, lease)
		if l.what == "Check" && err != nil || l.what != "Check" && !is(err, lock.ErrInvalid) {
			e.Errorf("%s: %v", l.what, err)
		}
	}
	if left := e.number("PTTL", "lock:"+name); left != -1 || !lease.Valid() {
		e.Errorf("PTTL %d, Valid %v", left, lease.Valid())
	}
	e.release(lease)
}
