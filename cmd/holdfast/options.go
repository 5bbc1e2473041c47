package main

import (
	"flag"
	"fmt"
	"io"
	"time"
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

// short is how long a short job takes.
func (o demoOptions) short() time.Duration { return o.ttl / 8 }

// interval is how often a lease is renewed.
func (o demoOptions) interval() time.Duration { return (o.ttl / 3).Round(time.Millisecond) }
