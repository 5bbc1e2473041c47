package chaos

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// options returns options for one lock, and whether the id that they give was used before.
func (w *worker) options(how, name string) (o *lock.MutexOptions, again bool) {
	ttl := w.run.cfg.TTL
	o = &lock.MutexOptions{TTL: ttl}
	o.NoRenewal = chance(w.random, 15)
	o.NoFence = chance(w.random, 10)
	if chance(w.random, 10) {
		o.MaxHold = max(ttl/2, 50*time.Millisecond) + upTo(w.random, 3*ttl)
	}
	fresh := how != "Adopt" && how != "Seize"
	if fresh && o.MaxHold == 0 && chance(w.random, 8) {
		o.HoldAtLeast = upTo(w.random, 4*ttl)
	}
	if name == stay {
		o.TTL, o.NoRenewal = lock.NoExpiry, false
		return o, false
	}
	if _, pooled := memberOf(name); fresh && !pooled && name != poolName && !o.NoFence && chance(w.random, 8) {
		o.ID, again = w.nextID()
	}
	return o, again
}

// nextID returns an id for the options: one that nobody has used, or the worker's last one. That one
// nobody else knows, unless it was detached.
func (w *worker) nextID() (id string, again bool) {
	if w.id != "" && chance(w.random, 50) {
		return w.id, true
	}
	w.given++
	w.id = fmt.Sprintf("chaos-%d-%d", w.index, w.given)
	return w.id, false
}
