package once

import (
	"context"
	"errors"
	"fmt"
)

// A queue is the callers of one Cache that want the value of one key, which the cache does not have. One
// of them leads: it waits for the lock, and computes. When it fails the next one leads; when it has the
// value, all others leave and load it.
type queue struct {
	turn  chan struct{} // one slot, which is full while somebody leads
	fresh chan struct{} // closed when a leader has the value; nobody leads any more then
	users int           // guarded by the Cache's mutex
}

// join returns the queue of a key, with one user more. Each join is followed by leave.
func (c *Cache[K, V]) join(key K) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1), fresh: make(chan struct{})}
		if c.queues == nil {
			c.queues = make(map[K]*queue)
		}
		c.queues[key] = q
	}
	q.users++
	return q
}

func (c *Cache[K, V]) leave(key K, q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q.users--
	if q.users == 0 {
		c.dropLocked(key, q)
	}
}

// settle sends everybody in the queue to load the value. Who comes later begins a new queue.
func (c *Cache[K, V]) settle(key K, q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(key, q)
	close(q.fresh)
}

// dropLocked takes a queue from the map, unless a newer one is there.
func (c *Cache[K, V]) dropLocked(key K, q *queue) {
	if c.queues[key] == q {
		delete(c.queues, key)
	}
}

// wait blocks until it is the caller's turn to lead (first), the value is in the cache (neither), or ctx
// ends. Whoever leads calls next at the end.
func (q *queue) wait(ctx context.Context) (first bool, err error) {
	select {
	case <-q.fresh:
		return false, nil
	case q.turn <- struct{}{}:
		return true, nil
	case <-ctx.Done():
	}
	err = ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		err = errors.Join(err, cause)
	}
	return false, fmt.Errorf("once: gave up waiting for the value: %w", err)
}

// next lets another one lead, unless the value is in the cache: then the turn stays taken for good.
func (q *queue) next() {
	select {
	case <-q.fresh:
	default:
		<-q.turn
	}
}
