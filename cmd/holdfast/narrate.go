package main

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// introduce says what is going to happen, and where.
func (d *demo) introduce() {
	title := fmt.Sprintf("holdfast demo: %d worker processes, one lock with a TTL of %s",
		d.workers, seconds(d.ttl))
	fmt.Fprintln(d.out, d.paint(bold, title))
	fmt.Fprintln(d.out, "Redis:", d.redis.About)
}

// follow takes an event into the ledger and tells about it.
func (d *demo) follow(e event) error {
	say := func(format string, args ...any) { d.line(e.read, e.Worker, format, args...) }
	switch e.What {
	case waiting:
		if !d.brief {
			say("waits for %s, the holder since %s s", d.crew.named(e.Label), d.clock(e.Since))
		}
	case acquired:
		d.tellAcquired(e)
	case renewed:
		if n := d.book.renew(e); n > 0 && n <= 5 {
			say("renews its lease (%d), good until %s s now", n, d.clock(e.Until))
		}
	case unlocking:
		was := d.book.end(e.Lock, e.Worker, unlocking, e.At)
		if !d.brief {
			say("is done after %s%s, and releases", seconds(e.At.Sub(was.at)), times(was.renewals))
		}
	case resetting:
		d.book.reset(e)
	case reset:
		d.book.resets++
		say("has cleared lock %q, taken at %s s, with %s of its TTL left",
			e.Lock, d.clock(e.Since), seconds(e.Left))
	case trouble:
		say("%s", d.paint(red, "gets over: "+e.Text))
	case lost:
		d.book.end(e.Lock, e.Worker, lost, e.At)
		return fmt.Errorf("%s lost its lease of %q in the middle of its job, which is not part of "+
			"the demo (is this machine busy?): %s", e.Worker, e.Lock, e.Text)
	case failed:
		return fmt.Errorf("%s: %s", e.Worker, e.Text)
	}
	return nil
}

// tellAcquired tells that a worker holds a lock, and how it came by it.
func (d *demo) tellAcquired(e event) {
	before, delay := d.book.acquire(e)
	how := "which was free"
	switch after := milliseconds(delay) + " after "; {
	case before.how == killed:
		how = d.paint(bold, after+before.worker+"'s key expired")
	case before.how == resetting:
		how = d.paint(bold, after+"the reset began")
	case before.how == unlocking && delay < e.Waited:
		how = after + before.worker + "'s release"
	}
	d.line(e.read, e.Worker, "holds %q with token %d, %s", e.Lock, e.Fence, how)
}

// tellOwner tells what any process sees as a lock's owner.
func (d *demo) tellOwner(o lock.Owner) {
	host := ""
	if o.Host != "" {
		host = ", host " + o.Host
	}
	d.more("label %s%s, since %s, %s of its TTL left",
		o.Label, host, o.Since.Format("15:04:05.000"), seconds(o.TTL))
}

// summary tells what came of it all, when all has ended.
func (d *demo) summary() {
	b := d.book
	verdict := "never two at once, every fencing token greater than the last"
	if len(b.broken) > 0 {
		verdict = d.paint(red, "with a broken promise, see below")
	}
	p50, worst := b.median()
	d.heading("Summary")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(d.out, "   %s %s\n", d.paint(bold, fmt.Sprintf("%-12s", what)),
			fmt.Sprintf(format, args...))
	}
	row("acquired", "%d times by %d processes: %s", b.acquired, len(d.crew.members)-1, verdict)
	row("renewals", "%d, one every %s of holding", b.renewals, seconds(d.interval()))
	row("handovers", "%d, from release to next holder p50 %s, at most %s",
		len(b.handovers), milliseconds(p50), milliseconds(worst))
	row("takeover", "%s after the killed holder's key had expired%s",
		milliseconds(b.takeover), busy(b.takeover))
	row("cleaned up", "%d lock of an earlier incarnation; its waiter held it %s later",
		b.resets, milliseconds(b.woken))
	row("left behind", "nothing: %d processes ended, and so did everything in Redis",
		len(d.crew.members))
}

// times says how often a lease was renewed.
func times(renewals int) string {
	switch renewals {
	case 0:
		return ""
	case 1:
		return " and 1 renewal"
	}
	return fmt.Sprintf(" and %d renewals", renewals)
}

// busy excuses a takeover that took longer than the library promises: 5 ms and a round trip.
func busy(takeover time.Duration) string {
	if takeover < 10*time.Millisecond {
		return ""
	}
	return " (5 ms at most when CPUs are idle)"
}
