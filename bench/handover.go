package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

var errExclusion = errors.New("EXCLUSION BROKEN: two held the lock at once")

// handover compares how long it takes from the call of Unlock in one client until Lock has returned
// in another, which waits. Clients share nothing but Redis, as two processes would.
func handover(e *env) error {
	const perRound = 40
	pool := e.pool("tcp")
	defer pool.Close()
	if err := load(pool); err != nil {
		return err
	}
	ours, err := ourHandover(e)
	if err != nil {
		return err
	}
	defer ours.close()
	theirs := theirHandover(e, pool)
	defer theirs.close()
	round := func(h *handoverers) func() (time.Duration, error) {
		return func() (time.Duration, error) { return h.p50(perRound, pool) }
	}
	return e.compare("p50 of a handover", "BLPOP + SET", round(ours), round(theirs))
}

// handoverers are two parties that take the lock in turn.
type handoverers struct {
	name    string
	acquire [2]func() error
	release [2]func() error
	close   func()
	inside  atomic.Int32
}

func ourHandover(e *env) (*handoverers, error) {
	h := &handoverers{name: "handover"}
	ctx, cancel := context.WithCancel(context.Background())
	var closers []func()
	for i := range 2 {
		c, err := e.client("tcp", nil)
		if err != nil {
			cancel()
			return nil, err
		}
		closers = append(closers, func() { _ = c.Close() })
		var unlock func(context.Context) error
		h.acquire[i] = func() error {
			lease, err := c.Mutex(h.name).Lock(ctx)
			if err == nil {
				unlock = lease.Unlock
			}
			return err
		}
		h.release[i] = func() error { return unlock(ctx) }
	}
	h.close = func() {
		cancel()
		for _, c := range closers {
			c()
		}
	}
	return h, nil
}

func theirHandover(e *env, pool *redis.Pool) *handoverers {
	h := &handoverers{name: "handover by hand"}
	ctx, cancel := context.WithCancel(context.Background())
	for i := range 2 {
		var id string
		p := peer{e.pool("tcp"), h.name}
		h.acquire[i] = func() (err error) {
			id, err = p.lock(ctx)
			return err
		}
		h.release[i] = func() error { return p.unlock(ctx, id) }
	}
	h.close = cancel
	return h
}

// p50 returns the median of n handovers. Before each, the other party's BLPOP is known to block.
func (h *handoverers) p50(n int, pool *redis.Pool) (time.Duration, error) {
	if err := h.take(0); err != nil {
		return 0, err
	}
	var times []float64
	for i := range n {
		holder, waiter := i%2, 1-i%2
		got := make(chan time.Time, 1)
		failed := make(chan error, 1)
		go func() {
			if err := h.take(waiter); err != nil {
				failed <- err
				return
			}
			got <- time.Now()
		}()
		if err := h.untilBlocked(pool); err != nil {
			return 0, err
		}
		began := time.Now()
		h.inside.Add(-1)
		if err := h.release[holder](); err != nil {
			return 0, err
		}
		select {
		case at := <-got:
			times = append(times, float64(at.Sub(began)))
		case err := <-failed:
			return 0, err
		}
	}
	h.inside.Add(-1)
	return time.Duration(median(times)), h.release[n%2]()
}

func (h *handoverers) take(i int) error {
	if err := h.acquire[i](); err != nil {
		return err
	}
	if h.inside.Add(1) != 1 {
		return errExclusion
	}
	return nil
}

// untilBlocked waits until somebody blocks in Redis.
func (h *handoverers) untilBlocked(pool *redis.Pool) error {
	conn := pool.Get()
	defer conn.Close()
	for range 5000 {
		info, err := redis.String(conn.Do("INFO", "clients"))
		if err != nil {
			return err
		}
		if !slices.Contains(splitLines(info), "blocked_clients:0") {
			time.Sleep(time.Millisecond) // for the machine to be at rest
			return nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return errors.New("nobody waits")
}

// crash measures how long after the expiry of a dead holder's key a waiter holds the lock.
func crash(e *env) error {
	c, err := e.client("tcp", nil)
	if err != nil {
		return err
	}
	defer c.Close()
	conn, err := redis.Dial("tcp", e.tcp)
	if err != nil {
		return err
	}
	defer conn.Close()
	var late []float64
	for i := range 300 {
		name := fmt.Sprint("crash-", i)
		ttl := time.Duration(100+i%50) * time.Millisecond
		if _, err := conn.Do("SET", "lock:"+name, "dead", "PX", ttl.Milliseconds()); err != nil {
			return err
		}
		expiry := time.Now().Add(ttl) // at the latest; half a round trip after the true one
		lease, err := c.Mutex(name).Lock(context.Background())
		if err != nil {
			return err
		}
		late = append(late, float64(time.Since(expiry))/float64(time.Millisecond))
		if err := lease.Unlock(context.Background()); err != nil {
			return err
		}
	}
	slices.Sort(late)
	fmt.Printf("  held after the expiry: p50 %.2f ms, p99 %.2f ms, max %.2f ms (bound: p99 5 ms)\n",
		quantile(late, 0.5), quantile(late, 0.99), late[len(late)-1])
	return nil
}
