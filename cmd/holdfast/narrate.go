package main

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A narrator tells what the demo shows, from what the workers report.
type narrator struct {
	demoOptions
	*timeline
	book  *ledger
	crew  *crew // nil until the demo has one
	brief bool  // tell only who holds the lock
}

// introduce says what is going to happen, and where.
func (n *narrator) introduce(redis string) {
	title := fmt.Sprintf("holdfast demo: %d worker processes, one lock with a TTL of %s",
		n.workers, seconds(n.ttl))
	fmt.Fprintln(n.out, n.paint(bold, title))
	fmt.Fprintln(n.out, "Redis:", redis)
}

// follow takes an event into the ledger and tells about it.
func (n *narrator) follow(e event) error {
	say := func(format string, args ...any) { n.line(e.read, e.Worker, format, args...) }
	switch e.What {
	case waiting:
		if !n.brief {
			say("waits for %s, the holder since %s s", n.crew.named(e.Label), n.clock(e.Since))
		}
	case acquired:
		n.tellAcquired(e)
	case renewed:
		if nth := n.book.renew(e); nth > 0 && nth <= 5 {
			say("renews its lease (%d), good until %s s now", nth, n.clock(e.Until))
		}
	case unlocking:
		was := n.book.end(e.Lock, e.Worker, unlocking, e.At)
		if !n.brief {
			say("is done after %s%s, and releases", seconds(e.At.Sub(was.at)), times(was.renewals))
		}
	case resetting:
		n.book.reset(e)
	case reset:
		n.book.resets++
		say("has cleared lock %q, taken at %s s, with %s of its TTL left",
			e.Lock, n.clock(e.Since), seconds(e.Left))
	case trouble:
		say("%s", n.paint(red, "gets over: "+e.Text))
	case lost:
		n.book.end(e.Lock, e.Worker, lost, e.At)
		return fmt.Errorf("%s lost its lease of %q in the middle of its job, which is not part of "+
			"the demo (is this machine busy?): %s", e.Worker, e.Lock, e.Text)
	case failed:
		return fmt.Errorf("%s: %s", e.Worker, e.Text)
	}
	return nil
}

// tellAcquired tells that a worker holds a lock, and how it came by it.
func (n *narrator) tellAcquired(e event) {
	before, delay := n.book.acquire(e)
	how := "which was free"
	switch after := milliseconds(delay) + " after "; {
	case before.how == killed:
		how = n.paint(bold, after+before.worker+"'s key expired")
	case before.how == resetting:
		how = n.paint(bold, after+"the reset began")
	case before.how == unlocking && delay < e.Waited:
		how = after + before.worker + "'s release"
	}
	n.line(e.read, e.Worker, "holds %q with token %d, %s", e.Lock, e.Fence, how)
}

// tellOwner tells what any process sees as a lock's owner.
func (n *narrator) tellOwner(o lock.Owner) {
	host := ""
	if o.Host != "" {
		host = ", host " + o.Host
	}
	n.more("label %s%s, since %s, %s of its TTL left",
		o.Label, host, o.Since.Format("15:04:05.000"), seconds(o.TTL))
}

// summary tells what came of it all, when all has ended.
func (n *narrator) summary() {
	b := n.book
	verdict := "never two at once, every fencing token greater than the last"
	if len(b.broken) > 0 {
		verdict = n.paint(red, "with a broken promise, see below")
	}
	p50, worst := b.median()
	n.heading("Summary")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(n.out, "   %s %s\n", n.paint(bold, fmt.Sprintf("%-12s", what)),
			fmt.Sprintf(format, args...))
	}
	row("acquired", "%d times by %d processes: %s", b.acquired, len(n.crew.members)-1, verdict)
	row("renewals", "%d, one every %s of holding", b.renewals, seconds(n.interval()))
	row("handovers", "%d, from release to next holder p50 %s, at most %s",
		len(b.handovers), milliseconds(p50), milliseconds(worst))
	row("takeover", "%s after the killed holder's key had expired%s",
		milliseconds(b.takeover), busy(b.takeover))
	row("cleaned up", "%d lock of an earlier incarnation; its waiter held it %s later",
		b.resets, milliseconds(b.woken))
	row("left behind", "nothing: %d processes ended, and so did everything in Redis",
		len(n.crew.members))
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
