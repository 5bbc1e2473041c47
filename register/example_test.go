package register_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// start stands for the client that you have.
func start() (c *lock.Client, stop func()) {
	url, end, err := redistest.Serve()
	if err != nil {
		log.Fatal(err)
	}
	c, err = lock.Open(url, nil)
	if err != nil {
		log.Fatal(err)
	}
	return c, func() { _, _ = c.Close(), end() }
}

// Publishing a version, never an older one over a newer one.
func Example() {
	c, stop := start()
	defer stop()
	ctx := context.Background()

	published := register.New(c, "catalogue:version")
	for _, version := range []int64{41, 43, 42} {
		n := register.Int(version)
		was, err := published.SetIf(ctx, register.Less, n, n, nil)
		if err != nil {
			log.Fatal(err)
		}
		if was.Done {
			fmt.Printf("published %s over %q\n", n, was.Stored)
		} else {
			fmt.Printf("%s is too old: %s is there\n", n, was.Stored)
		}
	}
	_, _ = published.DeleteIf(ctx, register.Equal, "43", nil)
	// Output:
	// published 41 over ""
	// published 43 over "41"
	// 42 is too old: 43 is there
}

// The lowest price that was offered, forgotten an hour after the last one that was lower. An offer that is
// lower by a tenth or less does not count: with that tolerance it is equal.
func ExampleRegister_SetIf() {
	c, stop := start()
	defer stop()
	ctx := context.Background()

	lowest := register.New(c, "offers:lowest")
	for _, offer := range []float64{19.9, 19.85, 17.5} {
		was, err := lowest.SetIf(ctx, register.Greater, register.Float(offer), register.Float(offer),
			&register.Options{Expiry: time.Hour, Tolerance: 0.1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(offer, was.Done)
	}
	_, _ = lowest.DeleteIf(ctx, register.Greater, "0", nil)
	// Output:
	// 19.9 true
	// 19.85 false
	// 17.5 true
}

// Deleting what was read, unless somebody has changed it since.
func ExampleRegister_DeleteIf() {
	c, stop := start()
	defer stop()
	ctx := context.Background()
	left := register.New(c, "import:left")
	_, _ = left.SetIf(ctx, register.NotEqual, "0", "0", nil)

	n, ok, err := left.Get(ctx)
	if err != nil || !ok {
		log.Fatal(err)
	}
	was, err := left.DeleteIf(ctx, register.Equal, n, nil)
	fmt.Println(was.Done, was.Stored, err)
	// Output: true 0 <nil>
}

// A holder that lost its lock is stopped before it writes over its successor's work.
func ExampleGate() {
	c, stop := start()
	defer stop()
	ctx := context.Background()
	stock := c.Mutex("stock")
	first, _ := stock.TryLock(ctx)
	_, _, _ = c.Reset(ctx, "stock") // an operator takes the lock away
	second, _ := stock.TryLock(ctx)
	defer second.Unlock(ctx)

	gate := register.NewGate(c, "stock")
	write := func(who string, lease *lock.Lease) {
		err := gate.Pass(ctx, lease.Fence()) // then write, at once
		fmt.Printf("%s: stale is %v\n", who, errors.Is(err, register.ErrStale))
	}
	write("second", second)
	write("first", first)
	// Output:
	// second: stale is false
	// first: stale is true
}
