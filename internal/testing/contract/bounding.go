package contract

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// bounding is what the limits of holding and waiting promise.
var bounding = []check{
	{name: "max hold", run: maxHold},
	{name: "hold at least", run: holdAtLeast},
	{name: "hold at least, with a waiter", run: holdAtLeastWaiter},
	{name: "no expiry", run: noExpiry},
	{name: "no expiry, lost", run: noExpiryLost},
	{name: "no fence", run: noFence},
	{name: "max waiters", run: maxWaiters},
	{name: "options that contradict", run: contradictions},
}

func maxHold(e *env) {
	name := e.name("job")
	m := e.client(nil).MutexWith(name, &lock.MutexOptions{TTL: short, MaxHold: 2 * short})
	began := time.Now()
	lease := e.take(m)
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	await(e, "the end of the context", ctx.Done())
	if took := time.Since(began); took < short {
		e.Errorf("it ended after %v: was it not renewed?", took)
	}
	e.is("the cause", context.Cause(ctx), lock.ErrMaxHold, lock.ErrLost)
	if left := e.number("PTTL", "lock:"+name); left < -2 || left > short.Milliseconds() {
		e.Errorf("the key has %d ms left, want it to be left to expire", left)
	}
	e.is("Unlock", lease.Unlock(e.soon()), lock.ErrLost, lock.ErrNotHeld)
	e.free(name)
}

// After Unlock the key stays for the rest of the minimum, beyond the TTL if need be.
func holdAtLeast(e *env) {
	name := e.name("job")
	c := e.labelled("cron")
	m := c.MutexWith(name, &lock.MutexOptions{TTL: short, HoldAtLeast: time.Minute})
	lease := e.take(m)
	for range 2 {
		if err := lease.Unlock(e.soon()); err != nil {
			e.Errorf("Unlock: %v", err)
		}
	}
	o, err := c.Owner(e.soon(), name)
	if err != nil || !o.Kept || o.Label != "cron" || o.TTL < time.Minute-limit || o.TTL > time.Minute {
		e.Errorf("Owner: %+v, %v", o, err)
	}
	_, err = m.TryLock(e.soon())
	e.is("TryLock", err, lock.ErrHeld)
	if _, held, err := c.Reset(e.soon(), name); err != nil || !held {
		e.Errorf("Reset: %v, %v", held, err)
	}
	e.free(name)
}

func holdAtLeastWaiter(e *env) {
	name := e.name("job")
	const least = 700 * time.Millisecond
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{HoldAtLeast: least}))
	granted := time.Now()
	waiter := e.later(e.soon(), nil, name)
	e.release(lease)
	next := e.leased(waiter)
	if time.Since(granted) < least-10*time.Millisecond {
		e.Errorf("the next one had it %v after the lease began", time.Since(granted))
	}
	e.release(next)
}

func noExpiry(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{TTL: lock.NoExpiry}))
	if left := e.number("PTTL", "lock:"+name); left != -1 {
		e.Errorf("PTTL %d, want -1", left)
	}
	if !lease.Valid() || !lease.Deadline().IsZero() {
		e.Errorf("Valid %v, Deadline %v", lease.Valid(), lease.Deadline())
	}
	_, err := e.client(nil).Mutex(name).TryLock(e.soon())
	e.is("TryLock", err, lock.ErrHeld)
	e.is("Extend", lease.Extend(e.soon(), time.Minute), lock.ErrInvalid)
	waiter := e.later(e.soon(), nil, name)
	e.release(lease)
	e.release(e.leased(waiter))
}

// Close with KeepOnClose gives the key an expiry again.
func noExpiryLost(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{TTL: lock.NoExpiry, KeepOnClose: true})
	lease := e.take(c.Mutex(name))
	_ = c.Close()
	e.is("Err", lease.Err(), lock.ErrLost, lock.ErrClosed)
	if left := e.number("PTTL", "lock:"+name); left <= 0 || left > 30_000 {
		e.Errorf("the key has %d ms left, want up to 30 s", left)
	}
	e.do("DEL", "lock:"+name)
}

func noFence(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).MutexWith(name, &lock.MutexOptions{NoFence: true}))
	if lease.Fence() != 0 || e.number("EXISTS", "lock-fence:"+name) != 0 {
		e.Errorf("it has a token, %d", lease.Fence())
	}
	if err := lease.Extend(e.soon(), time.Minute); err != nil {
		e.Errorf("Extend: %v", err)
	}
	e.release(lease)
	e.free(name)
}

func maxWaiters(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	c := e.client(&lock.Options{MaxWaiters: 2})
	done := make(chan got, 2)
	for range 2 {
		go func() {
			lease, err := c.Mutex(name).Lock(e.soon())
			done <- got{lease, err}
		}()
	}
	e.queued(c, 2)
	_, err := c.Mutex(name).Lock(e.soon())
	e.is("one too many", err, lock.ErrTooManyWaiters)
	e.release(e.take(c.Mutex(e.name("free")))) // who need not wait is not counted
	e.release(lease)
	for range 2 {
		e.release(e.leased(done))
	}
}

func contradictions(e *env) {
	c := e.client(nil)
	for what, o := range map[string]lock.MutexOptions{
		"MaxHold < HoldAtLeast": {MaxHold: time.Second, HoldAtLeast: time.Minute},
		"MaxHold of 1 ms":       {MaxHold: time.Millisecond},
		"negative HoldAtLeast":  {HoldAtLeast: -2},
		"NoExpiry + NoRenewal":  {TTL: lock.NoExpiry, NoRenewal: true},
		"ID + NoFence":          {ID: "given", NoFence: true},
		"KeepID + NoFence":      {KeepID: true, NoFence: true},
		"TTL of 1 ms":           {TTL: time.Millisecond},
		"margin of the TTL":     {TTL: time.Second, Margin: time.Second},
	} {
		_, err := c.MutexWith(e.name("job"), &o).TryLock(e.soon())
		e.is(what, err, lock.ErrInvalid)
	}
	e.free(e.name("job"))
}
