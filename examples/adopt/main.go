// Adopt shows a lock that changes hands between two programs: a web process takes it while it checks an
// order, puts the id into the queue together with the order, and a worker adopts the lock and finishes.
// In between nobody else can have the order.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/holdfast-go/holdfast/lock"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A message is what goes through the queue. Whoever knows the id can release the lock, so the queue
// must be one that strangers do not read.
type message struct{ order, id string }

func run(ctx context.Context) error {
	open := func(label string) (*lock.Client, error) {
		return lock.Open(os.Getenv("REDIS_URL"), &lock.Options{Prefix: "example:", Label: label})
	}
	web, err := open("web")
	if err != nil {
		return err
	}
	defer web.Close()
	worker, err := open("worker")
	if err != nil {
		return err
	}
	defer worker.Close()

	queue := make(chan message, 1)
	if err := accept(ctx, web, queue, "order:17"); err != nil {
		return err
	}
	_, err = web.Mutex("order:17").TryLock(ctx)
	if !errors.Is(err, lock.ErrHeld) {
		return fmt.Errorf("expected the order to be locked, got: %w", err)
	}
	fmt.Println("on its way:", err)
	return finish(ctx, worker, <-queue)
}

// accept checks an order and passes it on, locked.
func accept(ctx context.Context, web *lock.Client, queue chan<- message, order string) error {
	lease, err := web.Mutex(order).TryLock(ctx)
	if err != nil {
		return err
	}
	defer lease.Unlock(ctx) // does nothing once the lease is detached
	fmt.Printf("web checked %s under the token %d\n", order, lease.Fence())
	id, err := lease.Detach(ctx)
	if err != nil {
		return err
	}
	queue <- message{order, id}
	return nil
}

// finish takes the lock over and ends the work.
func finish(ctx context.Context, worker *lock.Client, m message) error {
	lease, err := worker.Mutex(m.order).Adopt(ctx, m.id)
	if err != nil {
		return err // ErrNotHeld: it took so long that the lock expired, and the order is checked anew
	}
	o, err := worker.Owner(ctx, m.order)
	if err == nil {
		fmt.Printf("%s finishes %s under the token %d\n", o.Label, m.order, lease.Fence())
	}
	return errors.Join(err, lease.Unlock(ctx))
}
