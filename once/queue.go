package once

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// queues are those of one Cache, by their keys. The zero value has none.
type queues[K comparable] struct {
	mu    sync.Mutex // guards the field below, and the users of each queue
	known map[K]*queue
}

// join returns the queue of a key, with one user more. Each join is followed by leave.
func (qs *queues[K]) join(key K) *queue {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.known[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1), fresh: make(chan struct{})}
		if qs.known == nil {
			qs.known = make(map[K]*queue)
		}
		qs.known[key] = q
	}
	q.users++
	return q
}

// leave ends what join began. The last user takes the queue along.
func (qs *queues[K]) leave(key K, q *queue) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q.users--
	if q.users == 0 {
		qs.dropLocked(key, q)
	}
}

// settle sends everybody in the queue to load the value. It is for the one who leads, once.
//
// The queue is dropped and ends in one step. Who joins before that is sent to load as well, and who
// comes later begins a new queue: nobody joins one that has ended.
func (qs *queues[K]) settle(key K, q *queue) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.dropLocked(key, q)
	close(q.fresh)
}

// dropLocked takes a queue from the map. A newer one stays: settle has dropped the queue before its
// users leave, and others may have begun the next one since.
func (qs *queues[K]) dropLocked(key K, q *queue) {
	if qs.known[key] == q {
		delete(qs.known, key)
	}
}

// A queue is the callers of one Cache that want the value of one key, which the cache does not
// have. One of them leads: it waits for the lock, and computes. When it fails the next one leads.
// When it has the value, all others leave and load it.
type queue struct {
	turn  chan struct{} // one slot, which is full while somebody leads
	fresh chan struct{} // closed when a leader has the value: nobody leads any more then
	users int           // guarded by the mutex of queues
}

// wait blocks until it is the caller's turn to lead (first), the value is in the cache (neither),
// or ctx ends. Whoever leads calls next at the end.
//
// No turn comes once the value is fresh, see next. So nobody leads a queue that has ended.
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
