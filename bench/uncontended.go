package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

const opsPerRound = 1000

// uncontended compares one goroutine's lock and unlock, with contexts that can end and that cannot.
func uncontended(e *env) error {
	for _, network := range []string{"unix", "tcp"} {
		pool := e.pool(network)
		defer pool.Close()
		if err := load(pool); err != nil {
			return err
		}
		c, err := e.client(network, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		live, cancel := context.WithCancel(context.Background())
		defer cancel()
		for what, ctx := range map[string]context.Context{
			"Do": context.Background(), "DoContext": live,
		} {
			p := peer{pool, "by hand"}
			for _, o := range fencing {
				m := c.MutexWith("uncontended", &o)
				err := e.compare(network+fenceText(o)+", against "+what, "redigo",
					func() (time.Duration, error) {
						return timeEach(opsPerRound, func() error { return ourCycle(ctx, m) })
					},
					func() (time.Duration, error) {
						return timeEach(opsPerRound, func() error { return theirCycle(ctx, p) })
					})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fencing are the two ways to take a lock: with a fencing token, which is the default, and without
// one, as the lock by hand has none either.
var fencing = []lock.MutexOptions{{}, {NoFence: true}}

func fenceText(o lock.MutexOptions) string {
	if o.NoFence {
		return ", no fence"
	}
	return ""
}

func ourCycle(ctx context.Context, m *lock.Mutex) error {
	lease, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

func theirCycle(ctx context.Context, p peer) error {
	id, err := p.lock(ctx)
	if err != nil {
		return err
	}
	return p.unlock(ctx, id)
}

// parallel compares 64 goroutines that each lock and unlock a name of their own.
func parallel(e *env) error {
	const workers = 64
	for _, network := range []string{"unix", "tcp"} {
		pool := e.pool(network)
		defer pool.Close()
		if err := load(pool); err != nil {
			return err
		}
		c, err := e.client(network, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for _, o := range fencing {
			err = e.compare(network+fenceText(o)+", 64 goroutines", "redigo with a pool",
				func() (time.Duration, error) {
					return together(workers, 100, func(i int) error {
						return ourCycle(ctx, c.MutexWith(fmt.Sprint("parallel-", i), &o))
					})
				},
				func() (time.Duration, error) {
					return together(workers, 100, func(i int) error {
						return theirCycle(ctx, peer{pool, fmt.Sprint("by hand-", i)})
					})
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// together runs op n times in each of some goroutines and returns the time for one.
func together(workers, n int, op func(i int) error) (time.Duration, error) {
	var all sync.WaitGroup
	errs := make(chan error, workers)
	began := time.Now()
	for i := range workers {
		all.Go(func() {
			for range n {
				if err := op(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	select {
	case err := <-errs:
		return 0, err
	default:
		return took / time.Duration(workers*n), nil
	}
}
