package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// startRedis stands for the Redis that you have, at redis://localhost:6379/0, say.
func startRedis() (url string, stop func()) {
	url, end, err := redistest.Serve()
	if err != nil {
		log.Fatal(err)
	}
	return url, func() { _ = end() }
}

// Most programs need no more than this: one client, and Do around what must run once at a time.
func Example() {
	url, stop := startRedis()
	defer stop()

	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Do(context.Background(), "migrate:orders", func(ctx context.Context) error {
		fmt.Println("migrating the orders; stopping early if ctx ends")
		return ctx.Err()
	})
	fmt.Println("done:", err)
	// Output:
	// migrating the orders; stopping early if ctx ends
	// done: <nil>
}

// A client for the Redis that a pool dials; the pool's own connections are not used.
func ExampleNew() {
	url, stop := startRedis()
	defer stop()

	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.DialURL(url) }}
	c, err := lock.New(pool, &lock.Options{TTL: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Owner(context.Background(), "reports:nightly")
	fmt.Println(errors.Is(err, lock.ErrNotHeld))
	// Output: true
}

// A pool that dials as Open does: an idle connection that was closed is noticed, replies have limits, and
// errors name the address.
func ExampleNetDial() {
	url, stop := startRedis()
	defer stop()

	dial := redis.DialContextFunc(lock.NetDial(nil)) // or with a *tls.Config
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialURLContext(ctx, url, dial)
	}}
	c, err := lock.New(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Owner(context.Background(), "reports:nightly")
	fmt.Println(errors.Is(err, lock.ErrNotHeld))
	// Output: true
}

// Without waiting, and with a lease that the caller releases.
func ExampleMutex_TryLock() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer"})
	defer c.Close()
	ctx := context.Background()

	m := c.Mutex("import")
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)

	_, err = m.TryLock(ctx)
	var held *lock.HeldError
	if errors.As(err, &held) {
		fmt.Printf("%s holds it\n", held.Owner.Label)
	}
	// Output: importer holds it
}

// The context bounds the waiting. The error says who held the lock.
func ExampleMutex_Lock() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer"})
	defer c.Close()
	lease, _ := c.Mutex("import").TryLock(context.Background())
	defer lease.Unlock(context.Background())

	ctx, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond,
		errors.New("the report cannot wait longer"))
	defer cancel()
	_, err := c.Mutex("import").Lock(ctx)

	fmt.Println(errors.Is(err, context.DeadlineExceeded), context.Cause(ctx))
	var held *lock.HeldError
	fmt.Println(errors.As(err, &held) && held.Owner.Label == "importer")
	// Output:
	// true the report cannot wait longer
	// true
}

func ExampleMutex_Do() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()

	m := c.MutexWith("migrate", &lock.MutexOptions{TTL: time.Minute, Margin: 5 * time.Second})
	err := m.Do(context.Background(), func(ctx context.Context) error {
		return errors.New("column exists")
	})
	fmt.Println(m.Name(), err)
	// Output: migrate column exists
}

// A lease is there to be asked: when it ends, whether it is valid right now, what its token is.
func ExampleLease() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()
	ctx := context.Background()

	lease, err := c.Mutex("ledger").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if lease.Valid() { // right before the write that must not happen without the lock
		fmt.Println("writing, with a fencing token:", lease.Fence() > 0)
	}
	fmt.Println("released:", lease.Unlock(ctx))
	fmt.Println(lease.Valid(), lease.Err())
	// Output:
	// writing, with a fencing token: true
	// released: <nil>
	// false lock: lease released
}

// A context that ends with the lease, for everything that the job calls.
func ExampleLease_Context() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{TTL: 3 * time.Second})
	defer c.Close()
	lease, _ := c.Mutex("import").TryLock(context.Background())

	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	_, _, _ = c.Reset(ctx, "import") // an operator takes the lock away
	<-ctx.Done()

	cause := context.Cause(ctx)
	fmt.Println(errors.Is(cause, lock.ErrLost), cause)
	// Output: true lock "import": lease lost: Redis says that nobody holds it
}

func ExampleLease_Extend() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()
	ctx := context.Background()
	lease, _ := c.Mutex("import").TryLock(ctx)
	defer lease.Unlock(ctx)

	err := lease.Extend(ctx, 10*time.Minute)
	fmt.Println(err, time.Until(lease.Deadline()) > 9*time.Minute)
	// Output: <nil> true
}

// Anybody can ask who holds a lock.
func ExampleOwner() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer"})
	defer c.Close()
	ctx := context.Background()
	lease, _ := c.Mutex("import").TryLock(ctx)
	defer lease.Unlock(ctx)

	o, err := c.Owner(ctx, "import")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Label, time.Since(o.Since) < time.Minute, o.TTL > 0, o.ID == lease.ID())
	// Output: importer true true true
}

func ExampleClient_Reset() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer"})
	defer c.Close()
	ctx := context.Background()
	_, _ = c.Mutex("import").TryLock(ctx)

	was, held, err := c.Reset(ctx, "import")
	fmt.Println(was.Label, held, err)
	_, held, err = c.Reset(ctx, "import")
	fmt.Println(held, err)
	// Output:
	// importer true <nil>
	// false <nil>
}

// At start, a program gives up what its earlier incarnation held when it died.
func ExampleFilter() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	options := &lock.Options{Label: "importer on db3", KeepOnClose: true}

	before, _ := lock.Open(url, options)
	_, _ = before.Mutex("import").TryLock(ctx)
	_ = before.Close() // dies, and leaves its lock behind

	after, _ := lock.Open(url, options)
	defer after.Close()
	left, err := after.ResetAll(ctx, lock.Filter{Label: options.Label})
	for _, o := range left {
		fmt.Println("left behind:", o.Name)
	}
	fmt.Println(err)
	// Output:
	// left behind: import
	// <nil>
}

// Hooks see what happens, here for a log.
func ExampleHooks() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer", Hooks: lock.Hooks{
		Acquired: func(e lock.Event) { fmt.Println("acquired", e.Name) },
		Released: func(e lock.Event) { fmt.Println("released", e.Name, e.Err) },
		Waiting:  func(e lock.Event) { fmt.Println("waiting for", e.Owner.Label) },
		Lost:     func(e lock.Event) { fmt.Println(e.Err) },
	}})
	defer c.Close()
	_ = c.Do(context.Background(), "import", func(context.Context) error { return nil })
	// Output:
	// acquired import
	// released import <nil>
}

// A program that ends lets its jobs finish, within a limit.
func ExampleClient_Shutdown() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, nil)

	started, done := make(chan struct{}), make(chan error)
	go func() {
		done <- c.Do(context.Background(), "import", func(ctx context.Context) error {
			close(started)
			return ctx.Err() // it is not interrupted
		})
	}()
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(c.Shutdown(ctx), <-done)
	// Output: <nil> <nil>
}

// Options for all locks of a client; a nil *Options is ready for use.
func ExampleOptions() {
	_, err := lock.Open("redis://localhost:6379/0", &lock.Options{
		Prefix: "billing:",              // the lock N is the key billing:lock:N
		Label:  "billing on db3",        // who holds a lock, instead of hostname:pid
		TTL:    time.Minute,             // how long it outlives a holder that died
		Margin: 100 * time.Millisecond,  // how long before that a lease ends
		Hooks:  lock.Hooks{Lost: alert}, // who wants to know
	})
	fmt.Println(err)
	_, err = lock.Open("redis://localhost:6379/0", &lock.Options{TTL: time.Millisecond})
	fmt.Println(errors.Is(err, lock.ErrInvalid))
	// Output:
	// <nil>
	// true
}

func alert(e lock.Event) { log.Print(e.Err) }

// Options of one job, where they differ from the client's.
func ExampleMutexOptions() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()

	m := c.MutexWith("import", &lock.MutexOptions{TTL: 10 * time.Minute, NoRenewal: true})
	lease, err := m.TryLock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(context.Background())
	fmt.Println(time.Until(lease.Deadline()) > 9*time.Minute)
	// Output: true
}

// What a refusal tells.
func ExampleHeldError() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Label: "importer"})
	defer c.Close()
	lease, _ := c.Mutex("import").TryLock(context.Background())
	defer lease.Unlock(context.Background())

	_, err := c.Mutex("import").TryLock(context.Background())
	var held *lock.HeldError
	fmt.Println(errors.As(err, &held), errors.Is(err, lock.ErrHeld))
	fmt.Println(held.Owner.Name, held.Owner.Label, held.Owner.TTL > 29*time.Second, held.Owner.ID == "")
	// Output:
	// true true
	// import importer true true
}

// Why a lease was lost.
func ExampleMutex_Do_lost() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{TTL: 3 * time.Second})
	defer c.Close()

	err := c.Do(context.Background(), "import", func(ctx context.Context) error {
		_, _, _ = c.Reset(ctx, "import") // an operator takes the lock away
		<-ctx.Done()
		return nil
	})
	if errors.Is(err, lock.ErrLost) {
		fmt.Println(err)
	}
	// Output: lock "import": lease lost: Redis says that nobody holds it
}
