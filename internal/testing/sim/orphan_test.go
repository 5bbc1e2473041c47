package sim

import (
	"fmt"
	"strings"
	"time"
)

// An orphan is what an acquire that failed may have left behind.
type orphan struct {
	client int
	since  time.Duration
}

// abandon takes note of an acquire that failed.
func (w *world) abandon(label string, client int) {
	if label == "" || w.plan.clients[client].close != 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandoned[label] = orphan{client, w.elapsed()}
}

// lookForOrphan looks whether a lock is held by nobody: by an acquire that failed.
func (w *world) lookForOrphan(key string) {
	if w.plan.tail == lingers {
		return // it may come at any time; then it is a ghost
	}
	value, _ := w.redis.Get(key) // "" if it is free
	label, _, _ := strings.Cut(value, "/")
	w.mu.Lock()
	o, ok := w.abandoned[label]
	since, well := time.Duration(0), false
	if ok {
		since, well = w.well(o.client)
	}
	late := ok && well && w.elapsed()-max(o.since, since) > w.mostGhostly(o.client)
	if late {
		delete(w.abandoned, label)
	}
	w.mu.Unlock()
	if late {
		w.violation("ORPHAN: %s is held by %s, whose acquire failed at %v", key, value, o.since)
	}
}

// lookForGhost looks whether a lock is held by nobody: under the id of an acquire that was repeated under
// another one, or that was executed after its lease had been released.
func (w *world) lookForGhost(key string) {
	id, _ := w.redis.Get(key)
	label, _, ok := strings.Cut(id, "/")
	var client int
	blocked := !strings.Contains(label, "a") // by Block, whose label is the client's
	if n, _ := fmt.Sscanf(label, "c%d", &client); !ok || n != 1 || strings.HasSuffix(id, "/kept") && !blocked {
		return // free, of a given id, or to be kept
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if blocked && w.blocks[key] > 0 || w.held[id] || w.shared[id] || w.plan.clients[client].close != 0 {
		delete(w.ghosts, id)
		return
	}
	seen, again := w.ghosts[id]
	if !again {
		seen = w.elapsed()
		w.ghosts[id] = seen
	}
	since, well := w.well(client)
	if took := w.elapsed() - max(seen, since); well && took > w.mostGhostly(client) {
		w.ghosts[id] = w.elapsed()
		w.violations = append(w.violations,
			fmt.Sprintf("GHOST: %s is held under %s for %v, and nobody has it", key, id, took))
	}
}

// mostGhostly is for how long a lock may be held by nobody: while an acquire or a release is under way,
// and, after accidents, until it was cleaned up.
func (w *world) mostGhostly(client int) time.Duration {
	if w.plan.calm {
		return 40*w.plan.clients[client].latency + 20*time.Millisecond
	}
	most := 3*opLimit + time.Second
	if w.plan.tail == lingers {
		most += longestAway
	}
	return most
}
