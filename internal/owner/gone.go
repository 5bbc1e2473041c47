package owner

import (
	"os"
	"sync/atomic"
	"time"
)

// CanTellDead reports whether this system tells dead processes from living ones. Where it does not,
// [Gone] takes every process but our own for living.
const CanTellDead = canTellDead

// Gone reports whether the process pid of this host is gone that took a lock at since. In doubt it
// lives. It does not look at the lock.
//
// A process that is found under our own process id is we, so that the old one is gone unless the
// lock may be ours. [Uses] has taken note of which may be. What can be told of other processes
// depends on the system, see [CanTellDead].
func Gone(pid int, since time.Time) bool {
	if pid == os.Getpid() {
		return first.after(since)
	}
	return dead(pid, since)
}

// Uses takes note of an id that this process is about to hold a lock under, before it does. [New]
// does so by itself. It is for ids that come from elsewhere, another process that hands its lock on
// say.
func Uses(id string) { first.uses(id) }

// first is the oldest of this process.
var first oldest

// An oldest is the time, in Unix milliseconds, of the oldest id that a process has used and that
// has its process id. It is 0 if there is none.
//
// An earlier process with the same process id may have left locks. They are told from its own by
// this: their ids are older, whatever the clock did since.
type oldest struct{ ms atomic.Int64 }

// uses takes note of an id that is about to be used. Acquires of many goroutines do so at once, and
// the least time must win whatever their order. If a later one overwrote it, a lock of ours would
// look like one that was left.
func (o *oldest) uses(value string) {
	id := Parse(value)
	if id.Since.IsZero() || id.PID != os.Getpid() { // nobody takes it for ours
		return
	}
	since := id.Since.UnixMilli()
	for old := o.ms.Load(); old == 0 || since < old; old = o.ms.Load() {
		if o.ms.CompareAndSwap(old, since) {
			return
		}
	}
}

// after reports whether all ids that were used are younger than a lock.
func (o *oldest) after(since time.Time) bool {
	ms := o.ms.Load()
	return ms == 0 || since.UnixMilli() < ms
}
