// Cron shows a job that every host starts at the same time and that must run once: TryLock instead of
// waiting, and HoldAtLeast so that a host whose clock is late finds the lock held, however short the
// job was.
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
	// Three hosts start the job of 03:00, one after the other: their clocks differ by less than a
	// minute, so the lock is held for a minute, and by more than the job takes.
	ran := 0
	for _, host := range []string{"web-1", "web-2", "web-3"} {
		client, err := lock.Open(os.Getenv("REDIS_URL"), &lock.Options{Prefix: "example:", Label: host})
		if err != nil {
			return err
		}
		did, err := nightly(ctx, client, host)
		err = errors.Join(err, client.Close())
		if err != nil {
			return err
		}
		if did {
			ran++
		}
	}
	if ran > 1 {
		return fmt.Errorf("the job ran %d times", ran)
	}
	fmt.Println("times that the job ran:", ran) // 0 if this example ran less than a minute ago
	return nil
}

// nightly runs the job unless another host has: it reports whether it did.
func nightly(ctx context.Context, client *lock.Client, host string) (bool, error) {
	m := client.MutexWith("nightly:03:00", &lock.MutexOptions{HoldAtLeast: time.Minute})
	lease, err := m.TryLock(ctx)
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		fmt.Printf("%s: nothing to do: %v\n", host, held)
		return false, nil
	case err != nil:
		return false, err
	}
	fmt.Printf("%s: building the report\n", host)
	return true, lease.Unlock(ctx)
}
