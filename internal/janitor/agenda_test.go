package janitor

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// However many calls are given up, the janitor comes back for so many.
func TestLateTasksAreBounded(t *testing.T) {
	t.Parallel()
	j := New(nil)
	now := time.Now()
	far := now.Add(time.Hour)
	for i := range maxLate + 5 {
		j.AddLate(Task{Due: far, Until: far, answered: now}, now.Add(time.Duration(i)))
	}
	j.mu.Lock()
	n, oldest := len(j.agenda.tasks), j.agenda.tasks[0].since
	j.mu.Unlock()
	if n != maxLate || oldest != now.Add(5) {
		t.Errorf("%d tasks, the oldest of %v", n, oldest.Sub(now))
	}
	j.Close(now)
	if len(j.agenda.tasks) != 0 {
		t.Errorf("%d tasks are left", len(j.agenda.tasks))
	}
}

// However many locks are released before their minimum is over, the janitor keeps so many in mind:
// those whose ends are the nearest.
func TestEndsOfMinimumsAreBounded(t *testing.T) {
	t.Parallel()
	j := New(nil)
	now := time.Now()
	j.BlockUntil(nil, Blocked{"blocked", "id"}, now.Add(300*24*time.Hour))
	for i := range maxLate + 5 {
		j.AtEnd(Task{Keep: now.Add(time.Hour - time.Duration(i)*time.Millisecond)}, 0)
	}
	j.AtEnd(Task{Keep: now.Add(2 * time.Hour)}, 0)
	j.mu.Lock()
	n, last := len(j.agenda.tasks), time.Time{}
	for _, t := range j.agenda.tasks {
		if t.isMinimum() && t.Keep.After(last) {
			last = t.Keep
		}
	}
	j.mu.Unlock()
	if want := now.Add(time.Hour - 5*time.Millisecond); n != maxLate+1 || last != want {
		t.Errorf("%d tasks, the last end %v from the one wanted", n, last.Sub(want))
	}
	if !j.Blocks("blocked", "id"+owner.KeptSuffix) {
		t.Error("the block was forgotten")
	}
	j.Close(now)
}
