package signal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

var report = signal.Name{Name: "report"}

// A waiter asks whenever it is told to, until it gets what it waits for.
func Example() {
	store := newStore() // a Store in memory
	store.hold("report", time.Hour)
	hub := signal.New(store, nil)
	defer hub.Close(time.Second)

	w, err := hub.Join(report, signal.Unknown)
	if err != nil {
		fmt.Println(err)
		return
	}
	got := false
	for !got {
		if err := w.Wait(context.Background()); err != nil {
			fmt.Println(err)
			break
		}
		var left signal.Left
		if got, left = store.acquire("report", time.Minute); !got {
			fmt.Println("taken")
			w.Taken(left)
			store.release("report") // the holder is done
		}
	}
	w.Leave(got)
	fmt.Println("got it:", got)
	// Output:
	// taken
	// got it: true
}

// A stopped hub ends all waiting.
func ExampleHub() {
	store := newStore()
	store.hold("report", time.Hour)
	hub := signal.New(store, nil)
	w, _ := hub.Join(report, signal.For(time.Hour))
	fmt.Println(hub.Queued(report))
	hub.Stop()
	fmt.Println(w.Wait(context.Background()))
	w.Leave(false)
	hub.Close(time.Second)
	// Output:
	// true
	// signal: the hub is closed
}

// Only the first in the queue is told to ask; when it leaves, the next one is.
func ExampleWaiter() {
	store := newStore()
	store.hold("report", time.Hour)
	hub := signal.New(store, nil)
	defer hub.Close(time.Second)

	first, _ := hub.Join(report, signal.For(time.Hour))
	second, _ := hub.Join(report, signal.For(time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(second.Wait(ctx))
	first.Leave(false)
	fmt.Println(second.Wait(context.Background()))
	second.Leave(false)
	// Output:
	// context deadline exceeded
	// <nil>
}

// Options tell what happens to the connections.
func ExampleOptions() {
	store := newStore()
	store.failing(fails(errNoBlock, "block"))
	degraded := make(chan error, 1)
	hub := signal.New(store, &signal.Options{Degraded: func(err error) { degraded <- err }})
	defer hub.Close(time.Second)

	store.hold("report", time.Hour)
	w, _ := hub.Join(report, signal.For(time.Hour))
	fmt.Println(<-degraded)
	w.Leave(false)
	// Output:
	// unknown command BLPOP
}
