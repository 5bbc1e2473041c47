package contract

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// waiting is what Lock promises.
var waiting = []check{
	{name: "woken by a release", run: wokenByRelease},
	{name: "woken by a reset", run: wokenByReset},
	{name: "woken by an expiry", run: wokenByExpiry},
	{name: "a lock deleted by hand", run: deletedByHand},
	{name: "the wait's context ends", run: waitEnds},
	{name: "who gives up takes no signal along", run: givingUp},
	{name: "in line", run: inLine},
	{name: "one at a time", run: oneAtATime},
}

func wokenByRelease(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	waiter := e.later(e.soon(), nil, name)
	e.release(lease)
	next := e.leased(waiter)
	if next.Fence() <= lease.Fence() {
		e.Errorf("token %d after %d", next.Fence(), lease.Fence())
	}
	e.release(next)
}

func wokenByReset(e *env) {
	name := e.name("job")
	e.do("SET", "lock:"+name, "somebody, without expiry")
	waiter := e.later(e.soon(), nil, name)
	was, held, err := e.client(nil).Reset(e.soon(), name)
	if err != nil || !held || was.TTL != lock.NoExpiry {
		e.Errorf("Reset: %+v, %v, %v", was, held, err)
	}
	e.release(e.leased(waiter))
}

// No signal comes then.
func wokenByExpiry(e *env) {
	name := e.name("job")
	set := time.Now()
	e.do("SET", "lock:"+name, "somebody who died", "PX", 400)
	lease, err := e.client(nil).Mutex(name).Lock(e.soon())
	if err != nil {
		e.Fatalf("Lock: %v", err)
	}
	if took := time.Since(set); took < 390*time.Millisecond {
		e.Errorf("got it %v after somebody took it for 400 ms", took)
	}
	e.release(lease)
}

// Nor then, and the waiter does not know of any expiry.
func deletedByHand(e *env) {
	name := e.name("job")
	e.do("SET", "lock:"+name, "somebody, without expiry")
	waiter := e.later(e.soon(), nil, name)
	e.do("DEL", "lock:"+name)
	e.release(e.leased(waiter))
}

func waitEnds(e *env) {
	name := e.name("job")
	lease := e.take(e.labelled("the holder").Mutex(name))
	defer e.release(lease)
	why := errors.New("no patience")
	ctx, cancel := context.WithTimeoutCause(context.Background(), short, why)
	defer cancel()
	_, err := e.client(nil).Mutex(name).Lock(ctx)
	e.is("Lock", err, context.DeadlineExceeded, why, lock.ErrHeld)
	for _, part := range []string{name, "no patience", "the holder"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			e.Errorf("%q is not in %q", part, err)
		}
	}
	if _, err := e.client(nil).Mutex(name).Lock(ctx); !is(err, context.DeadlineExceeded) {
		e.Errorf("Lock with a dead context: %v", err)
	}
}

func givingUp(e *env) {
	name := e.name("job")
	holder := e.client(nil).Mutex(name)
	for range 5 {
		lease := e.take(holder)
		ctx, cancel := context.WithCancel(context.Background())
		quitter := e.later(ctx, nil, name)
		stayer := e.later(e.soon(), nil, name)
		go cancel() // beside the release
		e.release(lease)
		if g := await(e, "the quitter", quitter); g.err == nil {
			e.release(g.lease)
		}
		e.release(e.leased(stayer))
		cancel()
	}
}

// Who waits in one process gets the lock in the order of the calls.
func inLine(e *env) {
	name := e.name("job")
	lease := e.take(e.client(nil).Mutex(name))
	c := e.client(nil)
	order := make(chan int, 4)
	var all sync.WaitGroup
	for i := range cap(order) {
		all.Go(func() {
			err := c.Do(e.soon(), name, func(context.Context) error {
				order <- i
				return nil
			})
			if err != nil {
				e.Errorf("waiter %d: %v", i, err)
			}
		})
		e.queued(c, i+1)
	}
	e.release(lease)
	all.Wait()
	for i := range cap(order) {
		if n := <-order; n != i {
			e.Errorf("number %d was served as number %d", n, i)
		}
	}
}

// oneAtATime has several clients count under one lock.
func oneAtATime(e *env) {
	name := e.name("job")
	inside, count := 0, 0
	var mu sync.Mutex
	step := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		inside += by
		count++
		if inside > 1 {
			e.Error("two at once")
		}
	}
	var all sync.WaitGroup
	for range 3 {
		c := e.client(nil)
		for range 2 {
			all.Go(func() {
				for range 10 {
					err := c.Do(e.soon(), name, func(context.Context) error {
						step(1)
						step(-1)
						return nil
					})
					if err != nil {
						e.Errorf("Do: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	if count != 120 {
		e.Errorf("%d steps, want 120", count)
	}
}
