package contract

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// naming is what names and the options of keys promise.
var naming = []check{
	{name: "bad names", run: badNames},
	{name: "prefix", run: prefix},
	{name: "key format", run: keyFormat},
	{name: "signal TTL", run: signalTTL},
}

func badNames(e *env) {
	c := e.client(nil)
	for _, name := range []string{"", "a\x00b", "\xff"} {
		_, err := c.Mutex(name).TryLock(e.soon())
		e.is("TryLock of "+name, err, lock.ErrInvalid)
	}
	odd := e.name("äöü [*] {tag} \\ \"quoted\" lock:x")
	e.release(e.take(c.Mutex(odd)))
}

// Two prefixes are two spaces of names.
func prefix(e *env) {
	name := e.name("job")
	plain := e.take(e.client(nil).Mutex(name))
	own := e.take(e.client(&lock.Options{Prefix: "app:"}).Mutex(name))
	if e.number("EXISTS", "app:lock:"+name, "lock:"+name) != 2 {
		e.Error("the keys are not where they should be")
	}
	e.release(own)
	if !plain.Valid() || e.number("EXISTS", "lock:"+name) != 1 {
		e.Error("one of another prefix was released")
	}
	e.release(plain)
}

// A lock is where the format says, and excludes programs that lock that key in another way.
func keyFormat(e *env) {
	name := e.name("job")
	for format, key := range map[string]string{
		"%s": name, "cache|%s": "cache|" + name, "app:%s:x": "app:" + name + ":x",
	} {
		o := &lock.Options{KeyFormat: format, Label: "formatted"}
		c := e.client(o)
		lease := e.take(c.Mutex(name))
		if value, _ := e.do("GET", key).([]byte); string(value) != lease.ID() {
			e.Errorf("%s: %q at %s, the id is %q", format, value, key, lease.ID())
		}
		var listed []string
		for o, err := range c.List(e.soon(), lock.Filter{Name: e.mark + "*"}) {
			if err != nil {
				e.Errorf("%s: List: %v", format, err)
			}
			listed = append(listed, o.Name)
		}
		if !slices.Equal(listed, []string{name}) {
			e.Errorf("%s: listed %q", format, listed)
		}
		waiter := e.later(e.soon(), o, name)
		e.release(lease)
		e.release(e.leased(waiter))

		e.do("SET", key, "another program's", "PX", 60_000)
		_, err := c.Mutex(name).TryLock(e.soon())
		e.is(format+": TryLock", err, lock.ErrHeld)
		_, err = c.ResetAll(e.soon(), lock.Filter{All: true, Name: e.mark + "/nothing"})
		if bare := strings.HasPrefix(format, "%s"); is(err, lock.ErrInvalid) != bare {
			e.Errorf("%s: ResetAll of all: %v", format, err)
		}
		waiter = e.later(e.soon(), o, name)
		e.do("DEL", key) // such programs push no signal
		e.release(e.leased(waiter))
		if n := e.number("EXISTS", key, "lock:"+name); n != 0 {
			e.Errorf("%s: %d keys are left", format, n)
		}
	}
}

// A signal stays for as long as it is told to.
func signalTTL(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{SignalTTL: time.Hour})
	for want, m := range map[time.Duration]*lock.Mutex{
		time.Hour:     c.Mutex(name),
		2 * time.Hour: c.MutexWith(name, &lock.MutexOptions{SignalTTL: 2 * time.Hour}),
	} {
		e.release(e.take(m))
		left := time.Duration(e.number("PTTL", "lock-signal:"+name)) * time.Millisecond
		e.within("the signal's TTL", left, want)
		e.do("DEL", "lock-signal:"+name)
	}
}
