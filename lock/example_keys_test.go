package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// The locks of a Python program that uses redis-py, whose keys are the bare names, and of this one are the
// same.
func ExampleOptions_keyFormat() {
	url, stop := startRedis()
	defer stop()
	ctx := context.Background()
	c, err := lock.Open(url, &lock.Options{KeyFormat: "%s"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	python, err := redis.DialURL(url) // stands for r.lock("import", timeout=60) of redis-py
	if err != nil {
		log.Fatal(err)
	}
	defer python.Close()

	_, err = python.Do("SET", "import", "a token", "NX", "PX", 60_000)
	fmt.Println("Python takes it:", err)
	_, err = c.Mutex("import").TryLock(ctx)
	fmt.Println("Go is refused:", errors.Is(err, lock.ErrHeld))
	_, err = python.Do("DEL", "import")
	fmt.Println("Python releases it:", err)
	lease, err := c.Mutex("import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	taken, err := python.Do("SET", "import", "a token", "NX", "PX", 60_000)
	fmt.Println("Python is refused:", taken == nil, err)
	fmt.Println("Go releases it:", lease.Unlock(ctx))
	// Output:
	// Python takes it: <nil>
	// Go is refused: true
	// Python releases it: <nil>
	// Python is refused: true <nil>
	// Go releases it: <nil>
}

// A waiter of another program that looks away for longer than a second finds the signal there still.
func ExampleOptions_signalTTL() {
	url, stop := startRedis()
	defer stop()
	c, err := lock.Open(url, &lock.Options{SignalTTL: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(context.Background(), "import", func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}

	conn, err := redis.DialURL(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	left, err := redis.Int(conn.Do("TTL", "lock-signal:import"))
	fmt.Println(left > 50, err)

	one := c.MutexWith("report", &lock.MutexOptions{SignalTTL: time.Hour}) // for this lock alone
	fmt.Println(one.Do(context.Background(), func(context.Context) error { return nil }))
	_, err = lock.Open(url, &lock.Options{SignalTTL: time.Millisecond})
	fmt.Println(errors.Is(err, lock.ErrInvalid))
	// Output:
	// true <nil>
	// <nil>
	// true
}
