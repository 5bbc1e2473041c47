package contract

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// ending is what Do, hooks, Close and Shutdown promise.
var ending = []check{
	{name: "do", run: do},
	{name: "do with a panic", run: doPanics},
	{name: "do with a loss", run: doLoses},
	{name: "do without the lock", run: doWithout},
	{name: "hooks", run: hooks},
	{name: "close", run: closing},
	{name: "close and keep", run: closeAndKeep},
	{name: "shutdown", run: shutdown},
}

func do(e *env) {
	name := e.name("job")
	c := e.client(nil)
	why := errors.New("the job's own")
	for _, want := range []error{nil, why} {
		err := c.Do(e.soon(), name, func(ctx context.Context) error {
			if _, err := c.Mutex(name).TryLock(ctx); !is(err, lock.ErrHeld) {
				e.Errorf("in Do, TryLock: %v", err)
			}
			return want
		})
		if !is(err, want) || err != nil && want == nil {
			e.Errorf("Do: %v, want %v", err, want)
		}
		e.free(name)
	}
	e.is("Do of nothing", c.Do(e.soon(), name, nil), lock.ErrInvalid)
}

func doPanics(e *env) {
	name := e.name("job")
	c := e.client(nil)
	func() {
		defer func() {
			if got := recover(); got != "oh" {
				e.Errorf("recovered %v", got)
			}
		}()
		_ = c.Do(e.soon(), name, func(context.Context) error { panic("oh") })
	}()
	e.free(name)
}

// Do tells of a loss even if the function says that all is well.
func doLoses(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{TTL: short})
	err := c.Do(context.Background(), name, func(ctx context.Context) error {
		e.do("DEL", "lock:"+name)
		await(e, "the end of the context", ctx.Done())
		e.is("the cause", context.Cause(ctx), lock.ErrLost)
		return nil
	})
	e.is("Do", err, lock.ErrLost)
}

func doWithout(e *env) {
	name := e.name("job")
	e.do("SET", "lock:"+name, "somebody", "PX", 60_000)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := e.client(nil).Do(ctx, name, func(context.Context) error {
		e.Error("it ran without the lock")
		return nil
	})
	e.is("Do", err, context.DeadlineExceeded)
	e.do("DEL", "lock:"+name)
}

func hooks(e *env) {
	name := e.name("job")
	told := make(events, 1000)
	c := e.client(&lock.Options{TTL: short, Label: "hooked", Hooks: lock.Hooks{
		Acquired: func(e lock.Event) { told.add("acquired %s %s", e.Name, e.Owner.Label) },
		Waiting:  func(e lock.Event) { told.add("waiting %s %s", e.Name, e.Owner.Label) },
		Renewed:  func(e lock.Event) { told.add("renewed %s", e.Name) },
		Lost:     func(e lock.Event) { told.add("lost %s %v", e.Name, is(e.Err, lock.ErrLost)) },
		Released: func(e lock.Event) { told.add("released %s %v", e.Name, e.Err) },
	}})
	before := e.take(e.labelled("the one before").Mutex(name))
	done := make(chan got, 1)
	go func() {
		lease, err := c.Mutex(name).Lock(e.soon())
		done <- got{lease, err}
	}()
	seen := []string{await(e, "waiting", told)}
	e.release(before)
	lease := e.leased(done)
	for !slices.Contains(seen, "renewed "+name) {
		seen = append(seen, whileHeld(e, lease, "a renewal", told))
	}
	e.release(lease)
	lease = e.take(c.Mutex(name))
	e.do("DEL", "lock:"+name)
	for lost := "lost " + name + " true"; !slices.Contains(seen, lost); {
		seen = append(seen, await(e, "the loss", told))
	}
	_ = lease.Unlock(e.soon())
	want := []string{
		"waiting the one before", "acquired hooked", "renewed", "released <nil>",
		"acquired hooked", "lost true",
	}
	var short []string // a waiter can be refused again, and any lease be renewed several times
	for _, one := range slices.Compact(seen) {
		short = append(short, strings.Replace(one, " "+name, "", 1))
	}
	if last := len(short) - 2; last > 0 && short[last] == "renewed" {
		short = slices.Delete(short, last, last+1)
	}
	if !slices.Equal(short, want) {
		e.Errorf("told %q, want %q", short, want)
	}
}

func closing(e *env) {
	name, own := e.name("foreign"), e.name("own")
	other := e.client(nil)
	foreign := e.take(other.Mutex(name))
	c := e.client(&lock.Options{TTL: short})
	lease := e.take(c.Mutex(own))
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Mutex(name).Lock(context.Background())
		done <- err
	}()
	e.queued(c, 1)
	if err := c.Close(); err != nil {
		e.Errorf("Close: %v", err)
	}
	e.is("the waiter", await(e, "the waiter", done), lock.ErrClosed)
	await(e, "the end of the context", ctx.Done())
	e.is("the cause", context.Cause(ctx), lock.ErrLost, lock.ErrClosed)
	e.free(own)
	_, err := c.Mutex(own).TryLock(e.soon())
	e.is("TryLock", err, lock.ErrClosed)
	e.is("Do", c.Do(e.soon(), own, func(context.Context) error { return nil }), lock.ErrClosed)
	e.is("Unlock", lease.Unlock(e.soon()), lock.ErrClosed)
	if err := c.Close(); err != nil {
		e.Errorf("the second Close: %v", err)
	}
	e.release(foreign)
}

func closeAndKeep(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{KeepOnClose: true, TTL: 10 * time.Second})
	lease := e.take(c.Mutex(name))
	_ = c.Close()
	if lease.Valid() {
		e.Error("valid after Close")
	}
	if left := e.number("PTTL", "lock:"+name); left <= 0 || left > 10_000 {
		e.Errorf("the key has %d ms left, want it to expire in time", left)
	}
	e.do("DEL", "lock:"+name)
}

// Shutdown waits for the functions that run, and renews their leases meanwhile.
func shutdown(e *env) {
	name := e.name("job")
	renewed := make(chan struct{}, 1000)
	c := e.client(&lock.Options{
		TTL: short, Hooks: lock.Hooks{Renewed: func(lock.Event) { renewed <- struct{}{} }},
	})
	began, goOn := make(chan struct{}), make(chan struct{})
	done, down := make(chan error, 1), make(chan error, 1)
	go func() {
		done <- c.Do(context.Background(), name, func(ctx context.Context) error {
			close(began)
			<-goOn
			return ctx.Err()
		})
	}()
	await(e, "the function", began)
	go func() { down <- c.Shutdown(e.soon()) }()
	redistest.Until(e, "calls are refused", func() bool {
		_, err := c.Owner(e.soon(), name)
		return is(err, lock.ErrClosed)
	})
	for len(renewed) > 0 {
		<-renewed
	}
	for range 3 {
		await(e, "a renewal", renewed)
	}
	close(goOn)
	if err := await(e, "Do", done); err != nil {
		e.Errorf("Do: %v", err)
	}
	if err := await(e, "Shutdown", down); err != nil {
		e.Errorf("Shutdown: %v", err)
	}
	e.free(name)
}
