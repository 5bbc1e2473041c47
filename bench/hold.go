package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

func splitLines(text string) []string {
	var lines []string
	for line := range bytes.Lines([]byte(text)) {
		lines = append(lines, strings.TrimSpace(string(line)))
	}
	return lines
}

// connections counts the clients of Redis that holdfast named with this label.
func (e *env) connections(label string) (int, error) {
	conn, err := redis.Dial("tcp", e.tcp)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	list, err := redis.String(conn.Do("CLIENT", "LIST"))
	return strings.Count(list, "name=holdfast:"+label+" "), err
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// besideWaiters compares lock + unlock, and looks at renewals, with and without 1,000 goroutines of
// the same client that wait for 100 names.
func besideWaiters(e *env) error {
	holder, err := e.client("tcp", &lock.Options{Label: "holder"})
	if err != nil {
		return err
	}
	defer holder.Close()
	var failed atomic.Int64
	hooks := lock.Hooks{RenewalFailed: func(lock.Event) { failed.Add(1) }}
	busy, err := e.client("tcp", &lock.Options{Label: "busy", TTL: time.Second, Hooks: hooks})
	if err != nil {
		return err
	}
	defer busy.Close()
	quiet, err := e.client("tcp", &lock.Options{Label: "quiet", TTL: time.Second})
	if err != nil {
		return err
	}
	defer quiet.Close()

	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	var leases []*lock.Lease
	for i := range 100 {
		name := fmt.Sprint("waited-for-", i)
		lease, err := holder.Mutex(name).TryLock(ctx)
		if err != nil {
			return err
		}
		leases = append(leases, lease)
		for range 10 {
			all.Go(func() { _, _ = busy.Mutex(name).Lock(ctx) })
		}
	}
	own, err := busy.Mutex("own").TryLock(ctx)
	if err != nil {
		return err
	}
	cycle := func(c *lock.Client, name string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			return timeEach(opsPerRound, func() error { return ourCycle(context.Background(), c.Mutex(name)) })
		}
	}
	err = e.compare("lock + unlock beside 1,000 waiters", "a client at rest",
		cycle(busy, "beside"), cycle(quiet, "at rest"))
	if err != nil {
		return err
	}
	n, err := e.connections("busy")
	fmt.Printf("  %d connections; %d renewals failed; the own lease is valid: %v\n",
		n, failed.Load(), own.Valid())
	if !own.Valid() {
		return errors.New("a lease was lost")
	}
	runtime.KeepAlive(leases)
	return err
}

// holdMany holds 10,000 leases for half a minute.
func holdMany(e *env) error {
	const n, forTime = 10_000, 30 * time.Second
	var renewals, failed, lost atomic.Int64
	c, err := e.client("tcp", &lock.Options{Label: "many", TTL: 3 * time.Second, Hooks: lock.Hooks{
		Renewed:       func(lock.Event) { renewals.Add(1) },
		RenewalFailed: func(lock.Event) { failed.Add(1) },
		Lost:          func(lock.Event) { lost.Add(1) },
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	before := runtime.NumGoroutine()
	leases := make([]*lock.Lease, n)
	if _, err := together(64, n/64+1, take(c, leases)); err != nil {
		return err
	}
	used, began := cpu(), time.Now()
	time.Sleep(forTime)
	share := float64(cpu()-used) / float64(time.Since(began)) * 100
	goroutines := runtime.NumGoroutine() - before
	connections, err := e.connections("many")
	if err != nil {
		return err
	}
	invalid := 0
	for _, lease := range leases {
		if !lease.Valid() {
			invalid++
		}
	}
	fmt.Printf("  %d leases: %d lost, %d renewals, %d failed, %d goroutines more, %d connections,"+
		" %.0f %% of a processor\n",
		n, lost.Load(), renewals.Load(), failed.Load(), goroutines, connections, share)
	if invalid > 0 || lost.Load() > 0 {
		return fmt.Errorf("%d leases were lost", max(int64(invalid), lost.Load()))
	}
	var releasing []float64
	for chunk := range slices.Chunk(leases, 100) {
		took, err := timeEach(1, func() error {
			_, err := together(len(chunk), 1, func(i int) error { return chunk[i].Unlock(context.Background()) })
			return err
		})
		if err != nil {
			return err
		}
		releasing = append(releasing, micros(took)/float64(len(chunk)))
	}
	fmt.Printf("  released, 100 at a time: %.1f µs each\n", median(releasing))
	return nil
}

// take returns what takes the next free lock of many.
func take(c *lock.Client, leases []*lock.Lease) func(int) error {
	var next atomic.Int64
	return func(int) error {
		i := next.Add(1) - 1
		if i >= int64(len(leases)) {
			return nil
		}
		lease, err := c.Mutex(fmt.Sprint("many-", i)).TryLock(context.Background())
		leases[i] = lease
		return err
	}
}
