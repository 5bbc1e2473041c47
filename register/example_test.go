package register_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
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

// The lowest price that was offered, forgotten an hour after the last one that was lower. An offer
// that is lower by a tenth or less does not count: with that tolerance it is equal.
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

// A count of failures in a window of an hour, which begins with the first one: what is set later
// keeps the expiry that the register has.
func ExampleOptions() {
	c, stop := start()
	defer stop()
	ctx := context.Background()
	failures := register.New(c, "login:failures")
	window := &register.Options{Expiry: time.Hour, KeepExpiry: true}

	for range 3 {
		n, _, err := failures.Get(ctx)
		if err != nil {
			log.Fatal(err)
		}
		var count int64 // 0: nothing is stored
		if n != "" {
			if count, err = n.Int64(); err != nil {
				log.Fatal(err)
			}
		}
		// Equal: unless another process was faster, which is for a loop in earnest.
		was, err := failures.SetIf(ctx, register.Equal, register.Int(count), register.Int(count+1), window)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(count+1, was.Done)
	}
	_, _ = failures.DeleteIf(ctx, register.Greater, "0", nil)
	// Output:
	// 1 true
	// 2 true
	// 3 true
}

// Numbers are text, and exact; what they are worth as an int64 or a float64 is for who reads them.
func ExampleNumber() {
	for _, n := range []register.Number{"7.0", "70e-1", register.Float(0.1), "9007199254740993", "1e400"} {
		whole, err := n.Int64()
		near, err2 := n.Float64()
		fmt.Println(n, "|", whole, err == nil, "|", near, err2 == nil)
	}
	// Output:
	// 7.0 | 7 true | 7 true
	// 70e-1 | 7 true | 7 true
	// 0.1 | 0 false | 0.1 true
	// 9007199254740993 | 9007199254740993 true | 9.007199254740992e+15 true
	// 1e400 | 0 false | 0 false
}

// The comparison says how what is stored must stand to what is given.
func ExampleComparison() {
	c, stop := start()
	defer stop()
	ctx := context.Background()
	stored := register.New(c, "seven")
	if _, err := stored.SetIf(ctx, register.NotEqual, "7", "7", nil); err != nil {
		log.Fatal(err)
	}

	for _, is := range []register.Comparison{
		register.Less, register.LessOrEqual, register.Equal,
		register.NotEqual, register.GreaterOrEqual, register.Greater,
	} {
		was, err := stored.SetIf(ctx, is, "8", "7", nil) // 7 or not, it stays 7
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("7", is, "8", was.Done)
	}
	_, _ = stored.DeleteIf(ctx, register.Equal, "7", nil)
	// Output:
	// 7 < 8 true
	// 7 <= 8 true
	// 7 == 8 false
	// 7 != 8 true
	// 7 >= 8 false
	// 7 > 8 false
}

// What another program has put under a register's name is told, and left alone.
func ExampleErrNotNumber() {
	pool := embedded.New().Pool() // yours dials Redis
	defer pool.Close()
	c, err := lock.New(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	conn := pool.Get()
	defer conn.Close()
	if _, err := conn.Do("SET", "lock-reg:version", "1.2-beta"); err != nil {
		log.Fatal(err)
	}

	_, err = register.New(c, "version").SetIf(context.Background(), register.Less, "2", "2", nil)
	fmt.Println(errors.Is(err, register.ErrNotNumber))
	fmt.Println(err)
	// Output:
	// true
	// register "version": the key lock-reg:version holds "1.2-beta", which is no number: delete it, or choose another name
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
		var stale *register.StaleError
		if errors.As(err, &stale) {
			fmt.Println("the second's token is the newest:", stale.Newest == register.Int(second.Fence()))
		}
	}
	write("second", second)
	write("first", first)
	// Output:
	// second: stale is false
	// first: stale is true
	// the second's token is the newest: true
}
