package signal_test

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// A redis is the part of Redis that locks live in: strings with a TTL that say who holds a lock,
// lists with at most one element that wake those who wait, first come, first served.
type redis struct {
	mu      sync.Mutex           // guards the fields below
	held    map[string]time.Time // until when; zero: for ever
	foreign map[string]bool
	lists   map[string]time.Time // lists of one element, and when they expire
	blocked []*read
	freed   map[string]time.Time // when a lock was last released
}

// A read is one BLPOP that blocks.
type read struct {
	keys   []string
	popped chan string
}

func newRedis() *redis {
	return &redis{
		held:    make(map[string]time.Time),
		foreign: make(map[string]bool),
		lists:   make(map[string]time.Time),
		freed:   make(map[string]time.Time),
	}
}

func signalOf(name string) string { return "lock-signal:" + name }

// hold lets somebody else have the lock; a negative ttl is for ever.
func (r *redis) hold(name string, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[name] = time.Time{}
	if ttl >= 0 {
		r.held[name] = time.Now().Add(ttl)
	}
}

// left is what PTTL answers, as signal has it.
func (r *redis) left(name string) signal.Left {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leftLocked(name)
}

func (r *redis) leftLocked(name string) signal.Left {
	until, held := r.held[name]
	switch left := time.Until(until); {
	case r.foreign[name]:
		return signal.Foreign
	case !held:
		return signal.Free
	case until.IsZero():
		return signal.Forever
	case left <= 0:
		return signal.Free
	default:
		return signal.For(left.Truncate(time.Millisecond))
	}
}

// acquire is the acquire script.
func (r *redis) acquire(name string, ttl time.Duration) (got bool, left signal.Left) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.leftLocked(name); left != signal.Free {
		return false, left
	}
	r.held[name] = time.Time{}
	if ttl >= 0 {
		r.held[name] = time.Now().Add(ttl)
	}
	delete(r.freed, name)
	return true, signal.Unknown
}

// vanish is DEL, or an expiry that nobody had seen coming: no signal.
func (r *redis) vanish(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
	r.freed[name] = time.Now()
}

// release is the release script.
func (r *redis) release(name string) {
	r.vanish(name)
	r.push(signalOf(name), time.Second)
}

// releaseAll releases the locks at one moment: a read that is woken finds all signals there.
func (r *redis) releaseAll(names []string) {
	for _, name := range names {
		r.vanish(name)
	}
	r.mu.Lock()
	for _, name := range names[1:] {
		r.lists[signalOf(name)] = time.Now().Add(time.Second)
	}
	r.mu.Unlock()
	r.push(signalOf(names[0]), time.Second)
}

// repair is the repair script. It reports whether it pushed.
func (r *redis) repair(name string) bool {
	r.mu.Lock()
	free := r.leftLocked(name) == signal.Free && !r.fullLocked(signalOf(name))
	r.mu.Unlock()
	if free {
		r.push(signalOf(name), time.Second)
	}
	return free
}

func (r *redis) fullLocked(key string) bool {
	until, ok := r.lists[key]
	return ok && time.Now().Before(until)
}

// push wakes the first who reads from the key; without one the element stays there for ttl.
func (r *redis) push(key string, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.blocked {
		if slices.Contains(b.keys, key) {
			r.blocked = slices.Delete(r.blocked, i, i+1)
			b.popped <- key // has room: it is in blocked once
			return
		}
	}
	r.lists[key] = time.Now().Add(ttl)
}

// pending reports whether a signal for the name lies there unread.
func (r *redis) pending(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fullLocked(signalOf(name))
}

func (r *redis) begin(keys []string) *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &read{keys, make(chan string, 1)}
	for _, key := range keys {
		if r.fullLocked(key) {
			delete(r.lists, key)
			b.popped <- key
			return b
		}
	}
	r.blocked = append(r.blocked, b)
	return b
}

// takeAll takes the elements of all lists that have one.
func (r *redis) takeAll(keys []string) (taken []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		if r.fullLocked(key) {
			delete(r.lists, key)
			taken = append(taken, key)
		}
	}
	return taken
}

// end ends a read; it returns the key if an element was read all the same.
func (r *redis) end(b *read) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.blocked, b); i >= 0 {
		r.blocked = slices.Delete(r.blocked, i, i+1)
		return ""
	}
	select {
	case key := <-b.popped:
		return key
	default:
		return ""
	}
}

// readers returns which names are read by how many.
func (r *redis) readers() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := make(map[string]int)
	for _, b := range r.blocked {
		for _, key := range b.keys {
			n[key]++
		}
	}
	return n
}
