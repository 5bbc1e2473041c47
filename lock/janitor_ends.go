package lock

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// repair gives a signal when the minimum of a lock is over that was released with one. late is how long
// it took from before the release was sent until it was answered: by so much the minimum may end later
// than it should. Redis expires a key when its time is past, not when it is up, and counts whole
// milliseconds.
func (j *janitor) repair(ref lockRef, late time.Duration) {
	if ref.keep.IsZero() {
		return
	}
	j.addTask(endOf(ref, late))
}

// isMinimum reports whether a task is the end of a minimum.
func (t *task) isMinimum() bool { return t.chore == toRepair && !t.block }

// roomLocked makes room for the end of a minimum at due, if there are maxLate of them: of all these the last one
// is left to the waiters, who find it by themselves. It returns false if that is the new one.
func (j *janitor) roomLocked(due time.Time) bool {
	ends, last := 0, -1
	for i := range j.tasks {
		if !j.tasks[i].isMinimum() {
			continue
		}
		if ends++; last < 0 || j.tasks[i].due.After(j.tasks[last].due) {
			last = i
		}
	}
	if ends < maxLate {
		return true
	}
	if !due.Before(j.tasks[last].due) {
		return false
	}
	j.tasks = slices.Delete(j.tasks, last, last+1)
	return true
}

// patience is for how long a signal is tried to be given that is due. Then it is left to waiters' looks.
const patience = time.Minute

// endOf returns the task to give a signal when a minimum is over, or a Block.
func endOf(ref lockRef, late time.Duration) task {
	due := ref.keep.Add(late + 2*time.Millisecond)
	return task{lockRef: ref, chore: toRepair, due: due, until: due.Add(patience)}
}

// forgetBlocks gives no signal at the ends that earlier Blocks of a lock had.
func (j *janitor) forgetBlocks(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tasks = slices.DeleteFunc(j.tasks, func(t task) bool { return t.block && t.name == name })
}

// blockEnds gives a signal when a Block is over.
func (j *janitor) blockEnds(ref lockRef) {
	t := endOf(ref, 0)
	t.block = true
	j.addTask(t)
}

// blocks reports whether a value that keeps a lock was put there by a Block of this client.
func (j *janitor) blocks(name, value string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.tasks, func(t task) bool {
		return t.block && t.name == name && t.id+owner.KeptSuffix == value
	})
}

// kept has those ends signalled later that Redis says are yet to come: over a long time its clock and ours
// differ.
func (j *janitor) kept(tasks []task, left []time.Duration) {
	now := time.Now()
	for i, t := range tasks {
		if left[i] > 0 {
			t.keep = now.Add(left[i])
			again := endOf(t.lockRef, 0)
			again.block = t.block
			j.addTask(again)
		}
	}
}
