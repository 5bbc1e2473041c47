package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/lock"
)

const demoUsage = `usage: holdfast demo [-workers N] [-ttl D] [-work D]

Shows locks at work: processes that contend for one, the holder's crash, and a restart that clears
what was left. Uses the Redis that REDIS_URL names, else a private redis-server or valkey-server
from PATH, else an embedded one. Checks what it shows, and leaves nothing behind.

  -workers N   how many processes contend, 2 to 9 (default 3)
  -ttl D       how long the lock outlives its holder, 300ms to 30s (default 3s)
  -work D      how long the long job takes, from the TTL to 10m (default 1.5 times the TTL)
`

// demoOptions are what the command line says.
type demoOptions struct {
	workers   int
	ttl, work time.Duration
}

func parseDemo(args []string) (o demoOptions, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.workers, "workers", 3, "")
	flags.DurationVar(&o.ttl, "ttl", 3*time.Second, "")
	flags.DurationVar(&o.work, "work", 0, "")
	err = flags.Parse(args)
	if o.work == 0 {
		o.work = o.ttl * 3 / 2
	}
	problem := ""
	switch {
	case err != nil:
		problem = err.Error()
	case flags.NArg() > 0:
		problem = fmt.Sprintf("it takes no argument, got %q", flags.Arg(0))
	case o.workers < 2 || o.workers > 9:
		problem = fmt.Sprintf("-workers %d is not from 2 to 9", o.workers)
	case o.ttl < 300*time.Millisecond || o.ttl > 30*time.Second:
		problem = fmt.Sprintf("-ttl %v is not from 300ms to 30s", o.ttl)
	case o.work < o.ttl || o.work > 10*time.Minute:
		problem = fmt.Sprintf("-work %v is not from the TTL, %v, to 10m", o.work, o.ttl)
	default:
		return o, nil
	}
	return o, usageError("demo: " + problem)
}

// A demo is one run. It is for one goroutine.
type demo struct {
	demoOptions
	*timeline
	book  *ledger
	count map[sighting]int
	brief bool // tell only who holds the lock

	redis  *anyredis.Redis
	client *lock.Client // the demo's own, to look from outside
	crew   *crew
}

func runDemo(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parseDemo(args)
	if err != nil {
		return err
	}
	d := &demo{
		demoOptions: o, timeline: newTimeline(stdout), book: newLedger(),
		count: map[sighting]int{},
	}
	err = d.play(ctx, stderr)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; everything that the demo started has ended", context.Cause(ctx))
	}
	if left := d.end(); left != nil {
		return errors.Join(err, fmt.Errorf("what the demo started did not end well: %w", left))
	}
	if err != nil {
		return err
	}
	d.summary()
	if broken := d.book.broken; len(broken) > 0 {
		return fmt.Errorf("the demo has shown what must not happen: %s", strings.Join(broken, "; "))
	}
	return nil
}

// play shows everything.
func (d *demo) play(ctx context.Context, stderr io.Writer) (err error) {
	if d.redis, err = anyredis.Find(ctx); err != nil {
		return err
	}
	d.introduce()
	d.client, err = lock.Open(d.redis.URL, &lock.Options{Prefix: d.redis.Prefix})
	if err != nil {
		return err
	}
	if d.crew, err = newCrew(d.redis, d.ttl, stderr); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{
		d.gather, d.longJob, d.shortJobs, d.crash, d.restart,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends everything that was started, whatever came before.
func (d *demo) end() error {
	var errs []error
	if d.crew != nil {
		errs = append(errs, d.crew.end())
	}
	if d.client != nil {
		errs = append(errs, d.client.Close())
	}
	if d.redis != nil {
		errs = append(errs, d.redis.Close())
	}
	return errors.Join(errs...)
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

// all reports whether all these workers have reported this; of idle, for their last order.
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
