// Cleanup clears at start what an earlier incarnation of the same program left behind, instead of
// waiting until it expires.
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
	// Two programs have crashed while they held locks: billing-1 had two, billing-2 has one.
	err := errors.Join(crash(ctx, "billing-1", "invoices"),
		crash(ctx, "billing-1", "reminders"), crash(ctx, "billing-2", "refunds"))
	if err != nil {
		return err
	}
	// billing-1 starts again. The label was given to this incarnation by its deployment (the name
	// of a systemd unit, of a pod in a StatefulSet), and one process at a time uses it: so whatever
	// is held under it was left by a process that is gone.
	client, err := lock.Open(os.Getenv("REDIS_URL"), &lock.Options{Prefix: "example:", Label: "billing-1"})
	if err != nil {
		return err
	}
	defer client.Close()
	owners, err := client.ResetAll(ctx, lock.Filter{Label: "billing-1"})
	if err != nil {
		return err
	}
	for _, o := range owners {
		fmt.Printf("billing-1 cleared %q, which would have stayed locked for another %v\n",
			o.Name, o.TTL.Round(time.Second))
	}
	if len(owners) != 2 {
		return fmt.Errorf("%d locks were cleared, expected 2", len(owners))
	}

	// Its work can go on at once. The other program's lock was not touched.
	err = client.Do(ctx, "invoices", func(context.Context) error {
		fmt.Println(`billing-1 holds "invoices" again`)
		return nil
	})
	_, other := client.Mutex("refunds").TryLock(ctx)
	if !errors.Is(other, lock.ErrHeld) {
		return errors.Join(err, fmt.Errorf("expected the lock to be held, got: %w", other))
	}
	fmt.Println("not cleared:", other)
	_, _, reset := client.Reset(ctx, "refunds") // for the next run of this example
	return errors.Join(err, reset)
}

// crash takes a lock and is gone without releasing it, which is what KeepOnClose leaves behind.
func crash(ctx context.Context, label, name string) error {
	client, err := lock.Open(os.Getenv("REDIS_URL"), &lock.Options{
		Prefix: "example:", Label: label, TTL: 10 * time.Minute, KeepOnClose: true,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Mutex(name).Lock(ctx)
	return err
}
