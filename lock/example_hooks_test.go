package lock_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// A logger for examples: what differs from run to run is left out.
func newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, "waited", "until", "fence":
				return slog.Attr{}
			}
			return a
		},
	}))
}

// All that happens to a client's locks, in the program's log.
func ExampleLogHooks() {
	url, stop := startRedis()
	defer stop()
	c, _ := lock.Open(url, &lock.Options{
		Label: "importer",
		Hooks: lock.LogHooks(newLogger()), // nil: slog.Default()
	})
	defer c.Close()
	_ = c.Do(context.Background(), "import", func(context.Context) error { return nil })
	// Output:
	// level=INFO msg="lock acquired" lock=import label=importer
	// level=INFO msg="lock released" lock=import
}

// The log, and a count of one's own.
func ExampleJoinHooks() {
	url, stop := startRedis()
	defer stop()
	imports := 0
	c, _ := lock.Open(url, &lock.Options{
		Label: "importer",
		Hooks: lock.JoinHooks(
			lock.LogHooks(newLogger()),
			lock.Hooks{Released: func(lock.Event) { imports++ }}, // by Do, on this goroutine
		),
	})
	defer c.Close()
	for range 2 {
		_ = c.Do(context.Background(), "import", func(context.Context) error { return nil })
	}
	fmt.Println("imports:", imports)
	// Output:
	// level=INFO msg="lock acquired" lock=import label=importer
	// level=INFO msg="lock released" lock=import
	// level=INFO msg="lock acquired" lock=import label=importer
	// level=INFO msg="lock released" lock=import
	// imports: 2
}

// A Lock that hangs because Redis refuses locks tells why, at once and then now and then.
func ExampleHooks_retrying() {
	url, stop := startRedis()
	defer stop()
	admin, err := redis.DialURL(url)
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()
	replicas := func(n int) {
		if _, err := admin.Do("CONFIG", "SET", "min-replicas-to-write", n); err != nil {
			log.Fatal(err)
		}
	}
	c, err := lock.Open(url, &lock.Options{Hooks: lock.Hooks{
		Retrying: func(e lock.Event) {
			fmt.Println(e.Name, "is retried:", strings.Contains(e.Err.Error(), "NOREPLICAS"))
			replicas(0) // what an operator does then
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	replicas(1)
	fmt.Println(c.Do(context.Background(), "import", func(context.Context) error { return nil }))
	// Output:
	// import is retried: true
	// <nil>
}
