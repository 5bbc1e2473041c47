package renewal

import (
	"container/heap"
	"math/bits"
	"time"
)

// A queue holds the terms that are to be renewed, one heap for each power of two of the TTL. So
// whatever comes from one heap may share a batch (its TTLs lie within a factor of two), and taking
// n due terms out costs O(n log n), with no scan over terms of other lengths. It is guarded by the
// Set's mutex.
type queue[T any] struct {
	classes [classes]class[T] // classes[k] holds TTLs of 2^(k-1) up to 2^k nanoseconds
}

// classes is how many classes of TTLs there are.
const classes = 65

// classOf is the index of the class for ttl.
func classOf(ttl time.Duration) int { return bits.Len64(uint64(max(ttl, 0))) }

// push queues t under its TTL and due of now. t must not be queued.
func (q *queue[T]) push(t *Term[T]) {
	t.class = classOf(t.ttl)
	heap.Push(&q.classes[t.class], t)
}

// remove takes t out if it is queued. It goes by the class that t was pushed under.
func (q *queue[T]) remove(t *Term[T]) {
	if t.pos >= 0 {
		heap.Remove(&q.classes[t.class], t.pos)
	}
}

// pick returns the class to serve at now, nil if nothing is due. Of several the shortest goes
// first, but none waits for shorter ones for more than a quarter of its TTL: due + 2^k/8 decides,
// so that many short terms, or short terms that keep failing, cannot starve the long ones.
func (q *queue[T]) pick(now time.Time) *class[T] {
	var best *class[T]
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

// first is when the next term falls due, the zero time if the queue is empty.
func (q *queue[T]) first() time.Time {
	var first time.Time
	for _, c := range &q.classes {
		if len(c) > 0 && (first.IsZero() || c.head().due.Before(first)) {
			first = c.head().due
		}
	}
	return first
}

// hurry makes everything due d earlier. The same shift for all leaves each heap in order.
func (q *queue[T]) hurry(d time.Duration) {
	for _, c := range &q.classes {
		for _, t := range c {
			t.due = t.due.Add(-d)
		}
	}
}

// A class is a heap of terms by when they fall due. Terms know their place in it.
type class[T any] []*Term[T]

// head is the term that falls due first. c must not be empty.
func (c class[T]) head() *Term[T] { return c[0] }

// take removes and returns the head.
func (c *class[T]) take() *Term[T] { return heap.Pop(c).(*Term[T]) }

// Len, Less, Swap, Push and Pop are for container/heap.

func (c class[T]) Len() int           { return len(c) }
func (c class[T]) Less(i, j int) bool { return c[i].due.Before(c[j].due) }

func (c class[T]) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].pos, c[j].pos = i, j
}

func (c *class[T]) Push(x any) {
	t := x.(*Term[T])
	t.pos = len(*c)
	*c = append(*c, t)
}

func (c *class[T]) Pop() any {
	last := len(*c) - 1
	t := (*c)[last]
	(*c)[last] = nil // the array must not keep an ended term alive
	*c = (*c)[:last]
	t.pos = -1
	return t
}
