package janitor

import (
	"slices"
	"time"
)

// maxLate bounds how many holdings the janitor comes back for. Beyond it the oldest is left to
// expire. It bounds how many ends of minimums are to be signalled, too, which may be a year ahead.
const maxLate = 10_000

// batchSize bounds the tasks that are done together.
const batchSize = 512

// An agenda is what a janitor has to do. Its zero value is empty. It has no mutex of its own.
type agenda struct{ tasks []Task }

// add puts a task in. There is room for all, save late tasks and ends of minimums beyond maxLate.
func (a *agenda) add(t Task) {
	if len(a.tasks) >= maxLate && t.late() {
		a.thin()
	}
	if len(a.tasks) >= maxLate && t.isMinimum() && !a.room(t.Due) {
		return
	}
	a.tasks = append(a.tasks, t)
}

// again puts back a task that was taken.
func (a *agenda) again(t Task) { a.tasks = append(a.tasks, t) }

// thin leaves the oldest late task to itself when there are too many.
func (a *agenda) thin() {
	late, oldest := 0, -1
	for i := range a.tasks {
		if !a.tasks[i].late() {
			continue
		}
		if late++; oldest < 0 || a.tasks[i].since.Before(a.tasks[oldest].since) {
			oldest = i
		}
	}
	if late >= maxLate {
		a.tasks = slices.Delete(a.tasks, oldest, oldest+1)
	}
}

// room makes room for the end of a minimum at due, if there are maxLate of them. Of all these the
// last one is left to the waiters, who find it by themselves. It returns false if that is the new
// one.
func (a *agenda) room(due time.Time) bool {
	ends, last := 0, -1
	for i := range a.tasks {
		if !a.tasks[i].isMinimum() {
			continue
		}
		if ends++; last < 0 || a.tasks[i].Due.After(a.tasks[last].Due) {
			last = i
		}
	}
	if ends < maxLate {
		return true
	}
	if !due.Before(a.tasks[last].Due) {
		return false
	}
	a.tasks = slices.Delete(a.tasks, last, last+1)
	return true
}

// take removes the tasks that are due, at most a batch. Without any it returns when the next one
// is, or that there is none.
//
// Once the janitor has stopped, all are due. Those that only come back are dropped then, and so are
// signals whose time has not come.
func (a *agenda) take(now time.Time, stopped bool) (due []Task, next time.Time, more bool) {
	rest := a.tasks[:0]
	for _, t := range a.tasks {
		switch {
		case now.After(t.Until), stopped && (t.visited() || t.chore == toRepair && t.Due.After(now)):
		case len(due) < batchSize && (stopped || !t.Due.After(now)):
			due = append(due, t)
		default:
			if next.IsZero() || t.Due.Before(next) {
				next = t.Due
			}
			rest = append(rest, t)
		}
	}
	clear(a.tasks[len(rest):])
	a.tasks = rest
	return due, next, len(rest) > 0
}

// forgetBlocks drops the ends of the Blocks of a name.
func (a *agenda) forgetBlocks(name string) {
	a.tasks = slices.DeleteFunc(a.tasks, func(t Task) bool { return t.blocks.Name == name })
}

// blocks reports whether a value that keeps a name was put there by a Block whose end is to come.
func (a *agenda) blocks(name, value string) bool {
	return slices.ContainsFunc(a.tasks, func(t Task) bool { return t.keeps(name, value) })
}
