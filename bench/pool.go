package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// poolHandover compares the handover of the one member of a pool of 1,000 that is released, while all
// others stay held, with that of a single lock.
func poolHandover(e *env) error {
	const perRound, members = 40, 1000
	conns := e.pool("tcp")
	defer conns.Close()
	crowd, err := e.client("tcp", &lock.Options{TTL: time.Hour, Margin: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	defer crowd.Close()
	ctx := context.Background()
	p := pool.New(crowd, "bench", nil)
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprint("m", i)
	}
	if _, _, err := p.Assign(ctx, names...); err != nil {
		return err
	}
	for _, name := range names[1:] {
		if _, err := p.TryLock(ctx, name); err != nil {
			return err
		}
	}
	anyMember := func(c *lock.Client) func() (*lock.Lease, error) {
		p := pool.New(c, "bench", nil)
		return func() (*lock.Lease, error) {
			lease, err := p.Lock(ctx)
			if err != nil {
				return nil, err
			}
			return lease.Lease, nil
		}
	}
	single := func(c *lock.Client) func() (*lock.Lease, error) {
		return func() (*lock.Lease, error) { return c.Mutex("bench").Lock(ctx) }
	}
	ours, err := clientsHandover(e, anyMember)
	if err != nil {
		return err
	}
	defer ours.close()
	theirs, err := clientsHandover(e, single)
	if err != nil {
		return err
	}
	defer theirs.close()
	round := func(h *handoverers) func() (time.Duration, error) {
		return func() (time.Duration, error) { return h.p50(perRound, conns) }
	}
	return e.compare("p50 of a member's handover", "a single lock", round(ours), round(theirs))
}

// clientsHandover returns two clients that hand something over.
func clientsHandover(e *env, take func(c *lock.Client) func() (*lock.Lease, error)) (*handoverers, error) {
	h := &handoverers{}
	var closers []func()
	for i := range 2 {
		c, err := e.client("tcp", nil)
		if err != nil {
			return nil, err
		}
		closers = append(closers, func() { _ = c.Close() })
		lock := take(c)
		var unlock func(context.Context) error
		h.acquire[i] = func() error {
			lease, err := lock()
			if err == nil {
				unlock = lease.Unlock
			}
			return err
		}
		h.release[i] = func() error { return unlock(context.Background()) }
	}
	h.close = func() {
		for _, c := range closers {
			c()
		}
	}
	return h, nil
}
