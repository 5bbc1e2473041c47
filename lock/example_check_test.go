package lock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast/lock"
)

// A program looks at its Redis when it starts, and tells an operator what to do about it.
func ExampleClient_Check() {
	url, stop := startRedis() // keeps nothing on disk
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()

	findings, err := c.Check(context.Background())
	if err != nil {
		log.Fatal(err) // Redis cannot be reached
	}
	for _, f := range findings {
		if f.Level == lock.Problem || f.Level == lock.Advice {
			fmt.Println(f.Level, f.Subject)
			fmt.Println(f.Remedy)
		}
	}
	// Output:
	// advice persistence
	// CONFIG SET appendonly yes, and in redis.conf (CONFIG REWRITE); or make sure that all jobs end when Redis restarts
}
