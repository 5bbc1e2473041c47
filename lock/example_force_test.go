package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// An operator takes a lock from a job that hangs, and the job's later writes are refused by their older
// token.
func ExampleMutex_Seize() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	job, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer job.Close()
	operator, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer operator.Close()

	hangs, err := job.Mutex("import").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	mine, err := operator.Mutex("import").Seize(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a later token:", mine.Fence() > hangs.Fence())
	fmt.Println("the job's lease is lost:", errors.Is(hangs.Verify(ctx), lock.ErrLost))
	fmt.Println("released:", mine.Unlock(ctx))
	// Output:
	// a later token: true
	// the job's lease is lost: true
	// released: <nil>
}

// A maintenance window: nobody gets the lock for ten minutes, and nobody holds it.
func ExampleClient_Block() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	fmt.Println("blocked:", c.Block(ctx, "import", 10*time.Minute))
	owner, err := c.Owner(ctx, "import")
	fmt.Println("for more than a minute:", owner.TTL > time.Minute, err)
	locked, err := c.Locked(ctx, "import")
	fmt.Println("locked:", locked, err)
	fmt.Println("until tomorrow:", c.Block(ctx, "import", 24*time.Hour))
	_, _, err = c.Reset(ctx, "import")
	fmt.Println("reset:", err)
	// Output:
	// blocked: <nil>
	// for more than a minute: true <nil>
	// locked: true <nil>
	// until tomorrow: <nil>
	// reset: <nil>
}

// A lease that is not renewed is prolonged by hand.
func ExampleLease_ExtendBy() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, &lock.Options{TTL: time.Minute, NoRenewal: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lease, err := c.Mutex("import").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	left, err := lease.ExtendBy(ctx, time.Minute)
	fmt.Println(left.Round(time.Minute), err)
	fmt.Println("back to the full TTL:", lease.Renew(ctx))
	fmt.Println("released:", lease.Unlock(ctx))
	// Output:
	// 2m0s <nil>
	// back to the full TTL: <nil>
	// released: <nil>
}
