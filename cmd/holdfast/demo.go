package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/lock"
)

// A demo is one run. It is for one goroutine.
type demo struct {
	narrator
	count map[sighting]int

	redis  *anyredis.Redis
	client *lock.Client // the demo's own, to look from outside
}

// until follows events until something has come true.
func (d *demo) until(ctx context.Context, what string, limit time.Duration,
	done func() bool,
) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for !done() {
		select {
		case e := <-d.crew.events:
			d.count[sighting{e.Worker, e.What}]++
			if err := d.follow(e); err != nil {
				return err
			}
		case m := <-d.crew.exits:
			if !m.killed {
				return fmt.Errorf("%s ended unexpectedly: %v", m.name, m.process.Wait())
			}
		case <-timeout.C:
			return fmt.Errorf("%w for %v: %s", errLate, limit, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var errLate = errors.New("the demo waited in vain")

// during follows events for a while.
func (d *demo) during(ctx context.Context, while time.Duration) error {
	err := d.until(ctx, "", while, func() bool { return false })
	if errors.Is(err, errLate) {
		return nil
	}
	return err
}

// A sighting is an event of one kind from one worker.
type sighting struct {
	worker string
	what   what
}

// seen returns how often a worker reported this.
func (d *demo) seen(m *member, w what) int { return d.count[sighting{m.name, w}] }

// all reports whether all these workers have reported this. For idle the report must be about their
// last order.
func (d *demo) all(members []*member, w what) bool {
	for _, m := range members {
		if w == idle && !d.idle(m) || d.seen(m, w) == 0 {
			return false
		}
	}
	return true
}

// idle reports whether a worker has carried out all its orders.
func (d *demo) idle(m *member) bool { return d.seen(m, idle) == m.orders }
