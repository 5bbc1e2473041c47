package lock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// All locks of an application, which has a prefix of its own, whoever holds them.
func ExampleClient_List() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Prefix: "billing:", Label: "billing on db3"})
	defer c.Close()
	ctx := context.Background()
	for _, name := range []string{"invoices", "reminders"} {
		lease, err := c.Mutex(name).TryLock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer lease.Unlock(ctx)
	}

	for o, err := range c.List(ctx, lock.Filter{}) {
		if err != nil {
			log.Fatal(err)
		}
		held := time.Since(o.Since)
		fmt.Printf("%s: %s, for less than a minute: %v\n", o.Name, o.Label, held < time.Minute)
	}
	// Unordered output:
	// invoices: billing on db3, for less than a minute: true
	// reminders: billing on db3, for less than a minute: true
}

// List is the dry run of ResetAll: the same filter, and nothing is changed.
func ExampleClient_List_dryRun() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Prefix: "shop:", Label: "importer on db3"})
	defer c.Close()
	ctx := context.Background()
	_, _ = c.Mutex("import").TryLock(ctx)

	filter := lock.Filter{Label: "importer on db3"}
	for o, err := range c.List(ctx, filter) {
		fmt.Println("would reset:", o.Name, err)
	}
	owners, err := c.ResetAll(ctx, filter)
	fmt.Println("were reset:", len(owners), err)
	for o := range c.List(ctx, filter) {
		fmt.Println("still there:", o.Name)
	}
	// Output:
	// would reset: import <nil>
	// were reset: 1 <nil>
}

// Who waits appears after a second of waiting.
func ExampleWaitInfo() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{Prefix: "print:", Label: "printer"})
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, _ = c.Mutex("tray").TryLock(ctx)
	go func() { _, _ = c.Mutex("tray").Lock(ctx) }()

	for {
		for o, err := range c.List(ctx, lock.Filter{Name: "tray"}) {
			if err != nil {
				log.Fatal(err)
			}
			for _, w := range o.Waiters {
				fmt.Println(w.Count, "of", w.Label, "waits for", o.Name)
				return
			}
		}
		<-time.After(100 * time.Millisecond)
	}
	// Output: 1 of printer waits for tray
}
