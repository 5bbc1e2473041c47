package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// Two licences for a simulation: who comes takes any that is free.
func Example() {
	client, err := embedded.Open(&lock.Options{Label: "lab"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	p := pool.New(client, "licences", nil)
	if _, _, err := p.Assign(ctx, "A-17", "B-3"); err != nil { // once, by whoever runs it
		log.Fatal(err)
	}
	err = p.Do(ctx, func(ctx context.Context, member string) error {
		fmt.Println("simulating with", member, "under a token:", lock.LeaseFrom(ctx).Fence() > 0)
		return nil
	})
	fmt.Println(err)
	// Output:
	// simulating with A-17 under a token: true
	// <nil>
}

func ExamplePool_TryLock() {
	client, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	p := pool.New(client, "ports", &pool.Options{Spread: true})
	if _, err := p.Extend(ctx, "8001", "8002"); err != nil {
		log.Fatal(err)
	}
	lease, err := p.TryLock(ctx, "8002") // this one or none
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("took", lease.Member())
	_, err = p.TryLock(ctx, "8002")
	fmt.Println("taken:", errors.Is(err, lock.ErrHeld))
	held, free, err := p.Health(ctx)
	fmt.Println(held, "held,", free, "free", err)
	fmt.Println("released:", lease.Unlock(ctx))
	// Output:
	// took 8002
	// taken: true
	// 1 held, 1 free <nil>
	// released: <nil>
}

// Members leave while they are held: the holder goes on, and nobody gets them after it.
func ExamplePool_Shrink() {
	client, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	p := pool.New(client, "hosts", nil)
	if _, err := p.Extend(ctx, "old"); err != nil {
		log.Fatal(err)
	}
	lease, err := p.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	removed, err := p.Shrink(ctx, "old")
	fmt.Println("removed:", removed, err)
	fmt.Println("held still:", lease.Valid())
	fmt.Println("released:", lease.Unlock(ctx))
	_, err = p.TryLock(ctx)
	fmt.Println("nothing left:", errors.Is(err, pool.ErrEmpty))
	// Output:
	// removed: 1 <nil>
	// held still: true
	// released: <nil>
	// nothing left: true
}

// What belongs to a pool can be read, and how each member stands.
func ExamplePool_Status() {
	client, err := embedded.Open(&lock.Options{Label: "lab"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	p := pool.New(client, "licences", nil)
	added, removed, err := p.Assign(ctx, "A-17", "A-18", "B-3")
	fmt.Println(added, "added,", removed, "removed", err)
	lease, err := p.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lease.Unlock(ctx) }()

	n, err := p.Len(ctx)
	fmt.Println(n, "members", err)
	members, err := p.Members(ctx)
	fmt.Println(members, err)
	has, err := p.Contains(ctx, "C-1")
	fmt.Println("C-1 is one:", has, err)
	status, err := p.Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range status {
		fmt.Printf("%s held: %t %q\n", m.Member, m.Held, m.Owner.Label)
	}
	gone, err := p.Clear(ctx)
	fmt.Println(gone, "taken out", err)
	// Output:
	// 3 added, 0 removed <nil>
	// 3 members <nil>
	// [A-17 A-18 B-3] <nil>
	// C-1 is one: false <nil>
	// A-17 held: true "lab"
	// A-18 held: false ""
	// B-3 held: false ""
	// 3 taken out <nil>
}
