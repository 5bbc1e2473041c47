package once_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/once"
)

// A map stands for the cache that your hosts share. Ten ask at the same time, one computes.
func Example() {
	c, err := embedded.Open(nil) // yours is lock.Open("redis://...", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var cache sync.Map
	reports := &once.Cache[string, string]{
		Mutex: func(month string) *lock.Mutex { return c.Mutex("report:" + month) },
		Load: func(_ context.Context, month string) (string, bool, error) {
			report, ok := cache.Load(month)
			if !ok {
				return "", false, nil
			}
			return report.(string), true, nil
		},
		Compute: func(ctx context.Context, month string) (string, error) {
			fmt.Println("computing")
			return "the report of " + month, ctx.Err()
		},
		Store: func(_ context.Context, month, report string, _ int64) error {
			cache.Store(month, report)
			return nil
		},
	}

	var all sync.WaitGroup
	got := make(chan string, 10)
	for range 10 {
		all.Go(func() {
			report, err := reports.Get(context.Background(), "2024-05")
			if err != nil {
				log.Fatal(err)
			}
			got <- report
		})
	}
	all.Wait()
	fmt.Println(len(got), "have", <-got)
	// Output:
	// computing
	// 10 have the report of 2024-05
}

// A versioned is what a cache keeps that refuses values of a holder whose lease was over.
type versioned struct {
	price int
	fence int64
}

// The value is there although it could not be stored: here because a newer one is in the cache.
func ExampleErrNotStored() {
	c, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var mu sync.Mutex
	cache := map[string]versioned{}
	prices := &once.Cache[string, int]{
		Mutex: func(item string) *lock.Mutex { return c.Mutex("price:" + item) },
		Load: func(_ context.Context, item string) (int, bool, error) {
			mu.Lock()
			defer mu.Unlock()
			v, ok := cache[item]
			return v.price, ok, nil
		},
		Compute: func(_ context.Context, item string) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			cache[item] = versioned{price: 20, fence: 1 << 60} // somebody else, after a long pause of ours
			return 10, nil
		},
		Store: func(_ context.Context, item string, price int, fence int64) error {
			mu.Lock()
			defer mu.Unlock()
			if fence < cache[item].fence {
				return errors.New("there is a newer one")
			}
			cache[item] = versioned{price, fence}
			return nil
		},
	}
	price, err := prices.Get(context.Background(), "tea")
	if errors.Is(err, once.ErrNotStored) {
		fmt.Println("good enough for this caller:", price)
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(err)
	// Output:
	// good enough for this caller: 10
	// once: value computed but not stored: there is a newer one
}
