package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A server that would rather refuse a request than let it wait behind many others.
func ExampleOptions_maxWaiters() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	waits := make(chan struct{}, 1)
	c, err := lock.Open(url, &lock.Options{MaxWaiters: 1, Hooks: lock.Hooks{
		Waiting: func(lock.Event) { waits <- struct{}{} },
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lease, err := c.Mutex("account:17").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}

	second := make(chan error)
	go func() { second <- c.Do(ctx, "account:17", func(context.Context) error { return nil }) }()
	<-waits
	_, err = c.Mutex("account:17").Lock(ctx)
	fmt.Println("the third is refused:", errors.Is(err, lock.ErrTooManyWaiters))
	fmt.Println("the first is done:", lease.Unlock(ctx))
	fmt.Println("the second is done:", <-second)
	// Output:
	// the third is refused: true
	// the first is done: <nil>
	// the second is done: <nil>
}

// What must never run twice, at the price that a crash keeps the lock until somebody resets it.
func ExampleMutexOptions_noExpiry() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, &lock.Options{KeepOnClose: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("migrate", &lock.MutexOptions{TTL: lock.NoExpiry})
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	owner, err := c.Owner(ctx, "migrate")
	fmt.Println(owner.TTL == lock.NoExpiry, err)
	fmt.Println(lease.Deadline().IsZero(), errors.Is(lease.Extend(ctx, time.Hour), lock.ErrInvalid))
	fmt.Println(lease.Unlock(ctx))
	// Output:
	// true <nil>
	// true true
	// <nil>
}

// A lock whose fencing tokens no resource checks can do without them: Redis keeps none for its name.
func ExampleMutexOptions_noFence() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("session:8f1c", &lock.MutexOptions{NoFence: true})
	err = m.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println(lock.LeaseFrom(ctx).Fence())
		return nil
	})
	fmt.Println(err)
	// Output:
	// 0
	// <nil>
}

// A program that was restarted goes on under the id that it had, as redis-allocator's rlock does.
func ExampleMutexOptions_keepID() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m := c.MutexWith("order:17", &lock.MutexOptions{ID: "ticket-4711", KeepID: true})
	if _, err := m.TryLock(ctx); err != nil { // and dies, say
		log.Fatal(err)
	}

	lease, err := m.TryLock(ctx)
	if errors.Is(err, lock.ErrAlreadyHeld) {
		lease, err = m.Adopt(ctx, "ticket-4711")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.ID(), lease.Unlock(ctx))
	// Output: ticket-4711 <nil>
}

// What a health check says of a lock.
func ExampleClient_Owner() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	report := func(patience time.Duration) {
		switch owner, err := c.Owner(ctx, "import"); {
		case errors.Is(err, lock.ErrNotHeld):
			fmt.Println("free")
		case err != nil:
			fmt.Println("not known:", err)
		case owner.TTL == lock.NoExpiry:
			fmt.Println("held without expiry")
		case owner.TTL > patience:
			fmt.Println("held for longer than we wait")
		default:
			fmt.Println("held, and free again in time")
		}
	}
	report(time.Minute)
	lease, err := c.MutexWith("import", &lock.MutexOptions{TTL: 5 * time.Minute}).TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	report(time.Hour)
	report(time.Minute)
	// Output:
	// free
	// held, and free again in time
	// held for longer than we wait
}

// After a release before its minimum is over a lock is kept: nobody holds it, and nobody gets it.
func ExampleOwner_kept() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, &lock.Options{Label: "web-1", HoldAtLeast: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(ctx, "nightly", func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}

	o, err := c.Owner(ctx, "nightly")
	fmt.Println(o.Label, o.Kept, o.TTL > 50*time.Second, err)
	// Output: web-1 true true <nil>
}

// At start, a program with the default label gives up what dead processes of its host held. Those that
// live, as this one does, keep theirs.
func ExampleFilter_deadHere() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lease, err := c.Mutex("import").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}

	_, err = c.ResetAll(ctx, lock.Filter{DeadHere: true})
	fmt.Println("without the statement:", errors.Is(err, lock.ErrInvalid))
	left, err := c.ResetAll(ctx, lock.Filter{DeadHere: true, OnePIDNamespace: true})
	fmt.Println("left behind:", len(left), err)
	fmt.Println("ours:", lease.Verify(ctx), lease.Unlock(ctx))
	// Output:
	// without the statement: true
	// left behind: 0 <nil>
	// ours: <nil> <nil>
}

// What an operator should hear of: here a password that anybody on the way can read.
func ExampleHooks_warning() {
	alert := func(what, text string) { fmt.Println(what+":", text) } // and page somebody
	c, err := lock.Open("redis://:secret@redis.example:6379/0", &lock.Options{Hooks: lock.Hooks{
		Warning:  func(e lock.Event) { alert("warning", e.Err.Error()) },
		Degraded: func(e lock.Event) { alert("waiting is degraded", e.Err.Error()) },
		Leaked:   func(e lock.Event) { alert("an Unlock is missing", e.Name) },
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	// Output:
	// warning: the password is sent without TLS to a host that is not this one, and so can be read on the way: use rediss:// or a unix socket
}

// A client bounds how long any lock is held. The one job that takes longer lifts the bound for its own lock.
func ExampleMutexOptions_lift() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, &lock.Options{MaxHold: time.Hour, NoRenewal: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("import:all", &lock.MutexOptions{TTL: 2 * time.Hour, MaxHold: lock.None, Renew: true})
	lease, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held for more than an hour:", time.Until(lease.Deadline()) > time.Hour)
	fmt.Println("released:", lease.Unlock(ctx))
	// Output:
	// held for more than an hour: true
	// released: <nil>
}
