// Owner asks who holds a lock, as an operator would from another host: all it takes is the Redis
// and the lock's name.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	url := os.Getenv("REDIS_URL")

	// The job's process. It has no label of its own, so the label is hostname:pid.
	job, err := lock.Open(url, &lock.Options{Prefix: "example:"})
	if err != nil {
		return err
	}
	defer job.Close()
	lease, err := job.Mutex("import:orders").Lock(ctx)
	if err != nil {
		return err
	}

	// The operator's process, which could run anywhere.
	ops, err := lock.Open(url, &lock.Options{Prefix: "example:", Label: "ops-laptop"})
	if err != nil {
		return err
	}
	defer ops.Close()
	<-time.After(time.Second) // so that there is something to see in "since" and "TTL left"
	owner, err := ops.Owner(ctx, "import:orders")
	if err != nil {
		return err
	}
	fmt.Println("who holds import:orders?")
	fmt.Println("  label    ", owner.Label)
	fmt.Println("  host, pid", owner.Host, owner.PID)
	fmt.Println("  since    ", owner.Since.Format(time.RFC3339Nano))
	fmt.Println("  TTL left ", owner.TTL)

	// Whoever tries to take the lock is told the same in one round trip.
	var held *lock.HeldError
	if _, err = ops.Mutex("import:orders").TryLock(ctx); !errors.As(err, &held) {
		return fmt.Errorf("expected the lock to be held, got: %w", err)
	}
	fmt.Println("TryLock:", held)

	// When nobody holds it, that is an answer of its own, not to be confused with "Redis is down".
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	if _, err = ops.Owner(ctx, "import:orders"); !errors.Is(err, lock.ErrNotHeld) {
		return fmt.Errorf("expected the lock to be free, got: %w", err)
	}
	fmt.Println("after Unlock:", err)
	return nil
}
