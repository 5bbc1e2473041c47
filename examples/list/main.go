// List shows all locks of an application and who waits for them, as a dashboard or an operator's
// tool would; and what a clean-up would do, before it is done.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"text/tabwriter"
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

	// An importer holds two locks, and another program waits for one of them, twice.
	importer, err := lock.Open(url, &lock.Options{Prefix: "example:", Label: "importer"})
	if err != nil {
		return err
	}
	defer importer.Close()
	for _, name := range []string{"import:orders", "import:customers"} {
		lease, err := importer.Mutex(name).TryLock(ctx)
		if err != nil {
			return err
		}
		defer lease.Unlock(ctx)
	}
	web, err := lock.Open(url, &lock.Options{Prefix: "example:", Label: "web/blue"})
	if err != nil {
		return err
	}
	defer web.Close()
	waiting, stop := context.WithCancel(ctx)
	var waiters sync.WaitGroup
	defer waiters.Wait()
	defer stop()
	for range 2 {
		waiters.Go(func() { _, _ = web.Mutex("import:orders").Lock(waiting) })
	}

	// The operator's process. The prefix says which application's locks it sees.
	ops, err := lock.Open(url, &lock.Options{Prefix: "example:", Label: "ops-laptop"})
	if err != nil {
		return err
	}
	defer ops.Close()
	<-time.After(2 * time.Second) // who waits appears after a second
	if err := show(ctx, ops, lock.Filter{}); err != nil {
		return err
	}
	return dryRun(ctx, ops, lock.Filter{Label: "importer", Name: "*:customers"})
}

// show prints the locks that the filter matches as a table.
func show(ctx context.Context, client *lock.Client, f lock.Filter) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LOCK\tOWNER\tSINCE\tTTL\tWAITERS")
	waiting := 0
	for o, err := range client.List(ctx, f) {
		if err != nil {
			return err // what was listed before it is right
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%v\t", o.Name, o.Label,
			o.Since.Format(time.TimeOnly), o.TTL.Round(time.Second))
		for _, w := range o.Waiters {
			fmt.Fprintf(table, "%d of %s ", w.Count, w.Label)
			waiting += w.Count
		}
		fmt.Fprintln(table)
	}
	if waiting != 2 {
		return fmt.Errorf("%d waiters were listed, expected 2", waiting)
	}
	return table.Flush()
}

// dryRun says what ResetAll would do, and then does it.
func dryRun(ctx context.Context, client *lock.Client, f lock.Filter) error {
	would := 0
	for o, err := range client.List(ctx, f) {
		if err != nil {
			return err
		}
		fmt.Printf("a reset would take %q from %s\n", o.Name, o.Label)
		would++
	}
	owners, err := client.ResetAll(ctx, f)
	if err != nil {
		return err
	}
	if len(owners) != would || would != 1 {
		return fmt.Errorf("%d locks were listed and %d reset, expected 1", would, len(owners))
	}
	fmt.Println("and did:", owners[0].Name)
	return nil
}
