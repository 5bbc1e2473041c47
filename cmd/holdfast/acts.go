package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

const (
	reportLock = "report" // the lock that all workers contend for
	importLock = "import" // the one that the importer leaves behind
	importTTL  = time.Minute

	// patience is how long the demo waits for what should come at once.
	patience = 15 * time.Second
)

// gather starts the workers.
func (d *demo) gather(ctx context.Context) error {
	var names []string
	for i := range d.workers {
		m, err := d.crew.start(fmt.Sprintf("worker %d", i+1), "")
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (pid %d)", m.name, m.process.PID()))
	}
	fmt.Fprintln(d.out)
	for row := range slices.Chunk(names, 3) {
		d.line(time.Now(), "demo", "starts %s", strings.Join(row, ", "))
	}
	return d.until(ctx, "all workers are there", patience, func() bool {
		return d.all(d.crew.members, ready)
	})
}

// longJob shows that a lease is renewed for as long as its job runs, while others wait.
func (d *demo) longJob(ctx context.Context) error {
	d.heading("1. A long job", fmt.Sprintf("It takes %s, the lock's TTL is %s: the lease is "+
		"renewed every %s. The others wait.",
		seconds(d.work), seconds(d.ttl), seconds(d.interval())),
		"Every holder gets a fencing token that is greater than all before.")
	first, others := d.crew.members[0], d.crew.members[1:]
	jobs := slices.Repeat([]time.Duration{d.short()}, max(1, 9/d.workers))
	if err := work(reportLock, append([]time.Duration{d.work}, jobs...), first); err != nil {
		return err
	}
	err := d.until(ctx, "worker 1 holds the lock", patience, func() bool {
		return d.seen(first, acquired) == 1
	})
	if err != nil {
		return err
	}
	if err := work(reportLock, jobs, others...); err != nil {
		return err
	}
	err = d.until(ctx, "the others wait", patience, func() bool { return d.all(others, waiting) })
	if err != nil {
		return err
	}
	if err := d.during(ctx, d.work/3); err != nil {
		return err
	}
	if err := d.askOwner(ctx, reportLock, "asks Redis, as anybody can, who holds it:"); err != nil {
		return err
	}
	return d.until(ctx, "worker 1 ends its job", d.work+patience, func() bool {
		return d.seen(first, unlocking) >= 1
	})
}

// shortJobs shows handovers, until all that was ordered is done.
func (d *demo) shortJobs(ctx context.Context) error {
	d.heading("2. Short jobs", fmt.Sprintf("Each takes %s. A release wakes one waiter at once; "+
		"nobody polls. (Only holders are shown.)", seconds(d.short())))
	d.brief = true
	defer func() { d.brief = false }()
	return d.until(ctx, "all jobs are done", 2*patience, func() bool {
		return d.all(d.crew.members, idle)
	})
}

// crash kills the holder and shows how a waiter takes over.
func (d *demo) crash(ctx context.Context) error {
	d.heading("3. A crash", "The holder is killed. As nobody renews its lease, its key expires: "+
		"a waiter takes over.")
	victim := d.crew.members[1]
	others := slices.Delete(slices.Clone(d.crew.members), 1, 2)
	had := d.seen(victim, acquired)
	if err := work(reportLock, []time.Duration{100 * d.ttl}, victim); err != nil {
		return err
	}
	err := d.until(ctx, victim.name+" holds the lock", patience, func() bool {
		return d.seen(victim, acquired) > had
	})
	if err != nil {
		return err
	}
	renewals := d.seen(victim, renewed)
	if err := work(reportLock, []time.Duration{d.short()}, others...); err != nil {
		return err
	}
	err = d.until(ctx, victim.name+" renews its lease twice", d.ttl+patience, func() bool {
		return d.seen(victim, renewed) >= renewals+2
	})
	if err != nil {
		return err
	}
	if err := d.during(ctx, d.ttl/10); err != nil {
		return err
	}
	if err := d.kill(ctx, victim, reportLock); err != nil {
		return err
	}
	return d.until(ctx, "a waiter takes over, and all do their jobs", d.ttl+patience, func() bool {
		return d.all(others, idle)
	})
}

// kill ends the holder of a lock with SIGKILL and notes when its key expires.
func (d *demo) kill(ctx context.Context, victim *member, name string) error {
	d.line(time.Now(), "demo", "%s", d.paint(red, fmt.Sprintf(
		"kills %s (pid %d) with SIGKILL, in the middle of its job",
		victim.name, victim.process.PID())))
	if err := victim.kill(); err != nil {
		return err
	}
	// What the victim had sent already reaches Redis before what is asked after a pause.
	if err := d.during(ctx, 20*time.Millisecond); err != nil {
		return err
	}
	asked := time.Now()
	o, err := d.client.Owner(ctx, name)
	if err != nil {
		return err
	}
	d.book.end(name, victim.name, killed, asked.Add(time.Since(asked)/2+o.TTL))
	d.line(time.Now(), "demo", "sees that Redis still names the dead holder:")
	d.tellOwner(o)
	return nil
}

// restart shows how a process clears what the one before it left.
func (d *demo) restart(ctx context.Context) error {
	d.heading("4. A restart",
		fmt.Sprintf("A process that was given the label %q dies with a lock whose TTL is %s.",
			importer, seconds(importTTL)),
		"Its next incarnation clears what was left under the label: the waiter need not wait so long.")
	before, err := d.crew.start(importer, importer)
	if err != nil {
		return err
	}
	if err := work(importLock, []time.Duration{time.Hour}, before); err != nil {
		return err
	}
	err = d.until(ctx, "the importer holds its lock", patience, func() bool {
		return d.seen(before, acquired) == 1
	})
	if err != nil {
		return err
	}
	waiter := d.crew.members[0]
	waits := d.seen(waiter, waiting)
	if err := work(importLock, []time.Duration{d.short()}, waiter); err != nil {
		return err
	}
	err = d.until(ctx, "worker 1 waits", patience, func() bool {
		return d.seen(waiter, waiting) > waits
	})
	if err != nil {
		return err
	}
	if err := d.during(ctx, d.ttl/6); err != nil {
		return err
	}
	if err := d.kill(ctx, before, importLock); err != nil {
		return err
	}
	if err := d.during(ctx, d.ttl/2); err != nil {
		return err
	}
	return d.comeBack(ctx, waiter)
}

const importer = "importer"

// comeBack starts the importer again, which clears its lock.
func (d *demo) comeBack(ctx context.Context, waiter *member) error {
	after, err := d.crew.start(importer, importer)
	if err != nil {
		return err
	}
	d.line(time.Now(), "demo", "starts the importer again (pid %d), with the same label",
		after.process.PID())
	if err := after.order(order{Do: "clear"}); err != nil {
		return err
	}
	err = d.until(ctx, "the importer clears its lock and worker 1 gets it", patience, func() bool {
		return d.seen(after, idle) == 1 && d.idle(waiter)
	})
	if err == nil && d.book.resets != 1 {
		d.book.fail("the importer cleared %d locks instead of the one it had left", d.book.resets)
	}
	return err
}

// work orders jobs under a lock.
func work(name string, jobs []time.Duration, members ...*member) error {
	for _, m := range members {
		o := order{Do: "work", Lock: name, Jobs: jobs}
		if m.name == importer {
			o.TTL = importTTL
		}
		if err := m.order(o); err != nil {
			return err
		}
	}
	return nil
}

// askOwner looks at a lock from outside.
func (d *demo) askOwner(ctx context.Context, name, text string) error {
	o, err := d.client.Owner(ctx, name)
	d.line(time.Now(), "demo", "%s", text)
	if errors.Is(err, lock.ErrNotHeld) {
		d.more("nobody, just now")
		return nil
	}
	if err == nil {
		d.tellOwner(o)
	}
	return err
}
