package renewal

import (
	"container/heap"
	"math/bits"
	"time"
)

// A queue holds what is to be renewed, one heap for each power of two of the TTL. It is guarded by
// the Set's mutex.
//
// Whatever comes from one heap may share a batch, as its TTLs lie within a factor of two. Taking n
// due entries out costs O(n log n), with no scan over entries of other lengths.
type queue[E any] struct {
	classes [classes]class[E] // classes[k] holds TTLs of 2^(k-1) up to 2^k nanoseconds
}

// classes is how many classes of TTLs there are.
const classes = 65

// classOf is the index of the class for ttl.
func classOf(ttl time.Duration) int { return bits.Len64(uint64(max(ttl, 0))) }

// A place is the part of an entry that a queue needs. The entry owns it, so that to queue an entry
// again allocates nothing.
type place[E any] struct {
	of    E         // the entry whose place it is
	due   time.Time // when to renew it, while it is queued
	class int       // where in the queue it is
	pos   int       // where in its class it is; -1 if it is not queued
}

// queued reports whether the entry is in a queue.
func (p *place[E]) queued() bool { return p.pos >= 0 }

// push queues an entry of length ttl, to be renewed at due. It must not be queued already.
func (q *queue[E]) push(p *place[E], ttl time.Duration, due time.Time) {
	p.due, p.class = due, classOf(ttl)
	heap.Push(&q.classes[p.class], p)
}

// remove takes an entry out if it is queued. It goes by the class that the entry was pushed under:
// the TTL may be another one by now.
func (q *queue[E]) remove(p *place[E]) {
	if p.queued() {
		heap.Remove(&q.classes[p.class], p.pos)
	}
}

// pick returns the class to serve at now, nil if nothing is due.
//
// Of several classes the shortest goes first, but none waits for shorter ones for more than a quarter
// of its TTL: due + 2^k/8 decides. Many short terms, or short terms that keep failing, would starve
// the long ones otherwise.
func (q *queue[E]) pick(now time.Time) *class[E] {
	var best *class[E]
	var bestBy time.Time
	for k := range q.classes {
		c := &q.classes[k]
		if len(*c) == 0 || c.head().due.After(now) {
			continue
		}
		by := c.head().due.Add(1 << max(k-3, 0))
		if best == nil || by.Before(bestBy) {
			best, bestBy = c, by
		}
	}
	return best
}

// first is when the next entry falls due, the zero time if the queue is empty.
func (q *queue[E]) first() time.Time {
	var first time.Time
	for _, c := range &q.classes {
		if len(c) > 0 && (first.IsZero() || c.head().due.Before(first)) {
			first = c.head().due
		}
	}
	return first
}

// hurry makes everything due d earlier. The same shift for all leaves each heap in order.
func (q *queue[E]) hurry(d time.Duration) {
	for _, c := range &q.classes {
		for _, p := range c {
			p.due = p.due.Add(-d)
		}
	}
}

// A class is a heap of entries by when they fall due. Each entry's place knows where in it that is.
type class[E any] []*place[E]

// head is the place of the entry that falls due first. c must not be empty.
func (c class[E]) head() *place[E] { return c[0] }

// take removes the entry that falls due first and returns it.
func (c *class[E]) take() E { return heap.Pop(c).(*place[E]).of }

// Len, Less, Swap, Push and Pop are for container/heap.

func (c class[E]) Len() int           { return len(c) }
func (c class[E]) Less(i, j int) bool { return c[i].due.Before(c[j].due) }

func (c class[E]) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].pos, c[j].pos = i, j
}

func (c *class[E]) Push(x any) {
	p := x.(*place[E])
	p.pos = len(*c)
	*c = append(*c, p)
}

func (c *class[E]) Pop() any {
	last := len(*c) - 1
	p := (*c)[last]
	(*c)[last] = nil // the array must not keep an ended term alive
	*c = (*c)[:last]
	p.pos = -1
	return p
}
