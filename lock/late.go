package lock

import "time"

// To close a connection is not the end of what was written on it. The kernel goes on sending what the
// other side has not acknowledged, at growing intervals, and after a cut of the network a command can be
// executed long after its call was given up. Three things stand against that, each where the one before
// it does not work:
//
//  1. The connection that comes next has Redis end the one that was given up (CLIENT KILL).
//  2. A connection is closed by a reset while calls are in flight, which has the kernel forget them.
//  3. What a given-up acquire may take is released again and again, by its id, for as long as the kernel
//     may go on sending.
//
// This file is the third. It goes by the id alone and knows nothing of the connection, so it works with
// every dialer, proxy and server. It costs six small scripts for a call that was given up.

// lateVisits are when the janitor comes back for what may be executed late, counted from when the call
// was given up. The connection is closed an operation limit after that at the latest. When the last visit
// comes no kernel sends any more.
var lateVisits = [...]time.Duration{
	operationLimit, 6 * time.Second, 14 * time.Second, 30 * time.Second, time.Minute, lateLimit,
}

// lateLimit is for how long a given-up command may be executed: 110 s after the close of its connection.
const lateLimit = 110*time.Second + operationLimit

// maxLate bounds how many locks the janitor comes back for. Beyond it the oldest is left to expire. It bounds how
// many ends of minimums are to be signalled, too, which may be a year ahead.
const maxLate = 10_000

// nextVisit returns when to come back next. ok is false if nothing can be executed any more. All but the
// first visits fall on whole seconds since began, so that many are made together.
func nextVisit(began, since, now time.Time) (next time.Time, ok bool) {
	for i, after := range lateVisits {
		next := since.Add(after)
		if i > 0 {
			next = began.Add((next.Sub(began) + time.Second - 1).Truncate(time.Second))
		}
		if next.After(now) {
			return next, true
		}
	}
	return time.Time{}, false
}

// addLate has a lock released, or seen to otherwise, at due and at every late visit after that.
func (j *janitor) addLate(t task, since time.Time) {
	t.since, t.life = since, t.until.Sub(since)
	j.addTask(t)
}

// visitedLocked decides when a late task comes again that Redis has answered.
func (j *janitor) visitedLocked(t task, now time.Time) {
	due, ok := nextVisit(j.began, t.since, now)
	if !t.visited() {
		t.answered = now
		// The visits before this one failed, perhaps, and it ended them with a new connection.
		if soon := now.Add(operationLimit); !ok || soon.Before(due) {
			due, ok = soon, true
		}
	}
	if !ok {
		return
	}
	t.due, t.until = due, latest(t.until, due.Add(t.life))
	j.tasks = append(j.tasks, t)
}

// thinLocked leaves the oldest late task to itself when there are too many.
func (j *janitor) thinLocked() {
	late, oldest := 0, -1
	for i := range j.tasks {
		if j.tasks[i].since.IsZero() {
			continue
		}
		if late++; oldest < 0 || j.tasks[i].since.Before(j.tasks[oldest].since) {
			oldest = i
		}
	}
	if late >= maxLate {
		j.tasks = append(j.tasks[:oldest], j.tasks[oldest+1:]...)
	}
}
