package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A job that hosts start by clocks which differ by less than a minute runs once: whoever comes later
// finds the lock held, however short the job was.
func ExampleMutexOptions_holdAtLeast() {
	url, stop := startRedis()
	defer stop()

	for _, host := range []string{"web-1", "web-2"} {
		c, err := lock.Open(url, &lock.Options{Label: host, HoldAtLeast: time.Minute})
		if err != nil {
			log.Fatal(err)
		}
		lease, err := c.Mutex("nightly").TryLock(context.Background())
		if errors.Is(err, lock.ErrHeld) {
			fmt.Println(host, "has nothing to do")
		} else if err == nil {
			fmt.Println(host, "runs the job:", lease.Unlock(context.Background()))
		}
		_ = c.Close()
	}
	// Output:
	// web-1 runs the job: <nil>
	// web-2 has nothing to do
}

// A job that hangs does not keep its lock for ever.
func ExampleMutexOptions_maxHold() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("import", &lock.MutexOptions{MaxHold: time.Second})
	err = m.Do(context.Background(), func(ctx context.Context) error {
		<-ctx.Done() // a job that never ends by itself
		return nil
	})
	fmt.Println(errors.Is(err, lock.ErrMaxHold), errors.Is(err, lock.ErrLost))
	// Output: true true
}

// How long to wait for a lock is said by a context; its cause says why in the error.
func ExampleMutex_Lock_timeout() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, &lock.Options{Label: "importer"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Mutex("import").TryLock(context.Background()); err != nil {
		log.Fatal(err)
	}

	errBusy := errors.New("the import of last night is running still")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Millisecond, errBusy)
	defer cancel()
	_, err = c.Mutex("import").Lock(ctx)

	fmt.Println("in time:", err == nil)
	fmt.Println("the deadline:", errors.Is(err, context.DeadlineExceeded))
	fmt.Println("our cause:", errors.Is(err, errBusy))
	var held *lock.HeldError
	if errors.As(err, &held) {
		fmt.Println("held by:", held.Owner.Label)
	}
	// Output:
	// in time: false
	// the deadline: true
	// our cause: true
	// held by: importer
}

// A web process takes a lock, and a worker finishes under it.
func ExampleMutex_Adopt() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	web, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer web.Close()
	worker, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()

	first, err := web.Mutex("order:17").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	id, err := first.Detach(ctx) // goes to the worker with the order
	fmt.Println("detached:", err, errors.Is(first.Err(), lock.ErrDetached))

	second, err := worker.Mutex("order:17").Adopt(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a later token:", second.Fence() > first.Fence())
	fmt.Println("released:", second.Unlock(ctx))
	// Output:
	// detached: <nil> true
	// a later token: true
	// released: <nil>
}

// A lock whose id is known in advance can be released from elsewhere.
func ExampleClient_ReleaseID() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("order:17", &lock.MutexOptions{ID: "ticket-4711"})
	if _, err := m.TryLock(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = m.TryLock(ctx)
	fmt.Println("already held:", errors.Is(err, lock.ErrAlreadyHeld))
	fmt.Println("released:", c.ReleaseID(ctx, "order:17", "ticket-4711"))
	// Output:
	// already held: true
	// released: <nil>
}

// Whoever lists the locks sees which worker holds this one, and nobody sees the secret behind the #.
func ExampleMutexOptions_iD() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m := c.MutexWith("order:17", &lock.MutexOptions{ID: "worker-7#9f2c61", TTL: time.Hour})
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Mutex("order:17").TryLock(ctx)
	var held *lock.HeldError
	fmt.Println(errors.As(err, &held), held.Owner)
	fmt.Println(lease.Unlock(ctx))
	// Output:
	// true worker-7, under an id of its own
	// <nil>
}

func ExampleClient_Stats() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	_, err = c.Mutex("a").TryLock(context.Background())
	lease, err2 := c.Mutex("b").TryLock(context.Background())
	if err := errors.Join(err, err2); err != nil {
		log.Fatal(err)
	}
	_ = lease.Unlock(context.Background())
	s := c.Stats()
	fmt.Printf("held %d, acquired %d, lost %d, connections %d\n", s.Held, s.Acquired, s.Lost, s.Connections)
	// Output: held 1, acquired 2, lost 0, connections 1
}

// A job under Do finds its lease in its context: for a last look before a critical write, and for the
// fencing token that the write takes along.
func ExampleLeaseFrom() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Do(context.Background(), "import", func(ctx context.Context) error {
		lease := lock.LeaseFrom(ctx)
		fmt.Println("valid:", lease.Valid(), "token:", lease.Fence() > 0)
		return nil
	})
	fmt.Println(err)
	// Output:
	// valid: true token: true
	// <nil>
}
