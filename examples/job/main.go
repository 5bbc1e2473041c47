// Job runs a long job under a lock with Client.Do, which is what most programs need. The lease is
// renewed for as long as the job runs; a second run that starts meanwhile finds the lock taken.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

func main() {
	// Ctrl-C ends ctx, the job stops, and Do releases the lock.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := lock.Open(os.Getenv("REDIS_URL"), &lock.Options{
		Prefix: "example:",
		TTL:    time.Second, // short, to see renewals; the default is 30 s
		Hooks: lock.Hooks{Renewed: func(lock.Event) {
			fmt.Println("        (the lease was renewed)")
		}},
	})
	if err != nil {
		return err
	}
	defer client.Close()

	return client.Do(ctx, "import:orders", func(ctx context.Context) error {
		fmt.Println("the job holds the lock for as long as it runs, though its TTL is only 1 s")
		if err := another(ctx, client); err != nil {
			return err
		}
		for step := 1; step <= 5; step++ {
			select {
			case <-time.After(400 * time.Millisecond): // the work
				fmt.Printf("step %d of 5 is done\n", step)
			case <-ctx.Done():
				// The lock is lost, or the program is to stop; the cause says which.
				// Nobody else stops the job: it must watch ctx itself.
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

// another is what a second run of the job would do: not wait, but give up if the first one runs.
func another(ctx context.Context, client *lock.Client) error {
	_, err := client.Mutex("import:orders").TryLock(ctx)
	if !errors.Is(err, lock.ErrHeld) { // any other error means something else: Redis is down, ...
		return fmt.Errorf("expected the lock to be held, got: %w", err)
	}
	fmt.Println("another run would not start:", err)
	return nil
}
