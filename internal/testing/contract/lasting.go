package contract

import (
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// lasting is what is promised of locks that are kept for very long.
var lasting = []check{
	{name: "a TTL of a year", run: yearLong},
	{name: "a minimum of a year", run: keptForAYear},
	{name: "block for a year", run: blockForAYear},
}

const year = 366 * 24 * time.Hour // the longest of all

// fenceLeft returns for how long the fencing token is remembered.
func (e *env) fenceLeft(name string) time.Duration {
	e.Helper()
	return time.Duration(e.number("PTTL", "lock-fence:"+name)) * time.Millisecond
}

// A plain lease lasts for as long as it was taken for, and its fencing token for twice as long.
func yearLong(e *env) {
	name := e.name("job")
	c := e.client(nil)
	for _, taken := range []time.Duration{48 * time.Hour, year} {
		lease := e.take(c.MutexWith(name, &lock.MutexOptions{TTL: taken, NoRenewal: true}))
		e.within("the key's TTL", e.left(name), taken)
		e.within("the fence's TTL", e.fenceLeft(name), max(2*taken, 7*24*time.Hour))
		margin := max(time.Minute, taken/1_000)
		e.within("the lease", time.Until(lease.Deadline()), taken-margin)
		e.release(lease)
	}
	lease := e.take(c.Mutex(name))
	if err := lease.Extend(e.soon(), year); err != nil {
		e.Errorf("Extend: %v", err)
	}
	e.within("the key's TTL", e.left(name), year)
	e.within("the fence's TTL", e.fenceLeft(name), 2*year)
	e.release(lease)
	e.do("DEL", "lock-fence:"+name)
	lease = e.unrenewed(name)
	if left, err := lease.ExtendBy(e.soon(), year-time.Hour); err != nil {
		e.Errorf("ExtendBy: %v", err)
	} else {
		e.within("ExtendBy returns", left, year-time.Hour+time.Minute)
		e.within("the fence's TTL", e.fenceLeft(name), 2*left)
	}
	e.release(lease)
}

func keptForAYear(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{HoldAtLeast: year}))
	e.within("the fence's TTL", e.fenceLeft(name), 2*year)
	e.release(lease)
	e.within("what it is kept for", e.left(name), year)
	o, err := e.client(nil).Owner(e.soon(), name)
	if err != nil || !o.Kept {
		e.Errorf("Owner: %+v, %v", o, err)
	}
}

func blockForAYear(e *env) {
	name := e.name("job")
	if err := e.client(nil).Block(e.soon(), name, year); err != nil {
		e.Fatalf("Block: %v", err)
	}
	e.within("the key's TTL", e.left(name), year)
	o, err := e.client(nil).Owner(e.soon(), name)
	if err != nil || o.TTL <= year-time.Hour || !o.Kept {
		e.Errorf("Owner: %+v, %v", o, err)
	}
}
