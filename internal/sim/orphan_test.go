package sim

import (
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
	value, _ := w.redis.Get(key) // "" if it is free
	label, _, _ := strings.Cut(value, "/")
	w.mu.Lock()
	o, ok := w.abandoned[label]
	since, well := time.Duration(0), false
	if ok {
		since, well = w.well(o.client)
	}
	limit := 3*opLimit + time.Second // twice, an operation limit or two apart, and once a second
	if ok && w.plan.calm {
		limit = 40*w.plan.clients[o.client].latency + 20*time.Millisecond
	}
	late := ok && well && w.elapsed()-max(o.since, since) > limit
	if late {
		delete(w.abandoned, label)
	}
	w.mu.Unlock()
	if late {
		w.violation("ORPHAN: %s is held by %s, whose acquire failed at %v", key, value, o.since)
	}
}
