package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

const (
	foreignKeys  = 1_000_000
	listedLocks  = 1_000
	worstAllowed = 10.0 // milliseconds
)

// listAmong measures what List makes other clients wait for, in a database that is full of keys that
// are not ours: how long a PING takes beside it, on a connection of its own, and beside nothing.
func listAmong(e *env) error {
	own, err := start(e.program, e.rounds)
	if err != nil {
		return err
	}
	defer own.stop()
	if err := own.crowd(); err != nil {
		return titled(err, "filling the database")
	}
	c, err := own.client("tcp", nil)
	if err != nil {
		return err
	}
	defer c.Close()
	var took []float64
	var beside, alone pinged
	for range min(e.rounds, 10) {
		err := own.ping(&beside, func() error {
			began := time.Now()
			err := listOnce(c)
			took = append(took, millis(time.Since(began)))
			return err
		})
		if err != nil {
			return err
		}
		rest := time.Duration(took[len(took)-1] * float64(time.Millisecond))
		if err := own.ping(&alone, func() error { time.Sleep(rest); return nil }); err != nil {
			return err
		}
	}
	fmt.Printf("  %d locks listed among %d keys: %.0f ms, median of %d\n",
		listedLocks, foreignKeys, median(took), len(took))
	fmt.Printf("  a PING beside List:  %v\n  a PING without List: %v\n", &beside, &alone)
	judge(slices.Max(beside.worst), slices.Max(alone.worst))
	return own.showScan()
}

// judge says loudly if the goal was not met, and if it cannot have been List's fault alone.
func judge(beside, alone float64) {
	if beside <= worstAllowed {
		return
	}
	fmt.Printf("  NOT MET: worst PING %.2f ms, the goal is %.0f ms\n", beside, worstAllowed)
	if alone > worstAllowed {
		fmt.Printf("  (the machine has other work: without List it was %.2f ms)\n", alone)
	}
}

// showScan prints what Redis says of its own time for a SCAN, which other work on the machine hardly
// changes.
func (e *env) showScan() error {
	conn, err := redis.Dial("tcp", e.tcp)
	if err != nil {
		return err
	}
	defer conn.Close()
	info, err := redis.String(conn.Do("INFO", "commandstats"))
	for _, line := range splitLines(info) {
		if stats, ok := strings.CutPrefix(line, "cmdstat_scan:"); ok {
			fmt.Println("  Redis on SCAN:", stats)
		}
	}
	return err
}

// crowd fills the database: keys of strangers, locks, and registers of who waits.
func (e *env) crowd() error {
	conn, err := redis.Dial("tcp", e.tcp)
	if err != nil {
		return err
	}
	defer conn.Close()
	const perCommand = 1000
	for i := range foreignKeys / perCommand {
		args := make([]any, 0, 2*perCommand)
		for k := range perCommand {
			args = append(args, fmt.Sprintf("session:%d", i*perCommand+k), "somebody else's")
		}
		if _, err := conn.Do("MSET", args...); err != nil {
			return err
		}
	}
	for i := range listedLocks {
		id := fmt.Sprintf("host:%d/01ARZ3NDEKTSV4RRFFQ69G5FAV", i+1)
		_ = conn.Send("SET", fmt.Sprint("lock:", i), id)
		register := fmt.Sprintf("lock-waiting:host:%d/01ARZ3NDEKTSV4RRFFQ69G5FAV:0", i/10)
		_ = conn.Send("HSET", register, i, 1)
	}
	_, err = conn.Do("") // its error is that of the Sends, too
	return err
}

// listOnce lists all locks, and checks that they are all there.
func listOnce(c *lock.Client) error {
	locks, waiters := 0, 0
	for o, err := range c.List(context.Background(), lock.Filter{}) {
		if err != nil {
			return err
		}
		locks++
		waiters += len(o.Waiters)
	}
	if locks != listedLocks || waiters != listedLocks {
		return fmt.Errorf("%d locks and %d waiters were listed, not %d", locks, waiters, listedLocks)
	}
	return nil
}

// A pinged is how many milliseconds PINGs took.
type pinged struct {
	all   []float64
	worst []float64 // of each round
}

// String sums it up. The median of the rounds' worst is what a machine with other work tells best.
func (p *pinged) String() string {
	slices.Sort(p.all)
	return fmt.Sprintf("worst %.2f ms (median of the rounds' worst %.2f ms), p99 %.2f ms, of %d",
		slices.Max(p.worst), median(p.worst), quantile(p.all, 0.99), len(p.all))
}

// ping sends one PING after the other, on a connection of its own, while something runs.
func (e *env) ping(p *pinged, while func() error) error {
	conn, err := redis.Dial("tcp", e.tcp)
	if err != nil {
		return err
	}
	defer conn.Close()
	done := make(chan error, 1)
	go func() { done <- while() }()
	worst := 0.0
	for {
		began := time.Now()
		if _, err := conn.Do("PING"); err != nil {
			return err
		}
		took := millis(time.Since(began))
		p.all = append(p.all, took)
		worst = max(worst, took)
		select {
		case err := <-done:
			p.worst = append(p.worst, worst)
			return err
		default:
		}
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
