package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/lock"
)

// client is where one process and many hosts differ: the rest of the program is the same.
func client(url string) (*lock.Client, error) {
	if url == "" {
		return embedded.Open(nil)
	}
	return lock.Open(url, nil)
}

// A tool that runs without a Redis, and uses one if it is given its URL.
func ExampleOpen() {
	c, err := client("") // os.Getenv("REDIS_URL")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Do(context.Background(), "import", func(context.Context) error {
		fmt.Println("importing")
		return nil
	})
	fmt.Println(err)
	// Output:
	// importing
	// <nil>
}

// Two hosts that contend, in one process.
func ExampleNew() {
	ctx := context.Background()
	s := embedded.New()
	a, err := s.Open(&lock.Options{Label: "host a"})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := s.Open(&lock.Options{Label: "host b"})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	lease, err := a.Mutex("import").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	_, err = b.Mutex("import").TryLock(ctx)
	var held *lock.HeldError
	if errors.As(err, &held) {
		fmt.Println("held by", held.Owner.Label)
	}
	// Output: held by host a
}

// A program that makes its client from a pool, and keeps something else in Redis.
func ExampleServer_Pool() {
	pool := embedded.New().Pool()
	defer pool.Close()
	c, err := lock.New(pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Do(context.Background(), "counter", func(context.Context) error {
		conn := pool.Get()
		defer conn.Close()
		n, err := conn.Do("INCR", "counter")
		fmt.Println(n)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 1
}
