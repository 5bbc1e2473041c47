package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/lock"
)

// ErrNotStored says that the value was computed but not stored. The value comes with that error. So
// does what kept it from being stored: an error that Is [lock.ErrLost], or the one of Store. The
// next one who asks computes the value again.
var ErrNotStored = errors.New("once: value computed but not stored")

// A Cache gets values by keys, from a cache or, if that has none, by computing and storing them.
// Set all of its fields, and do not change them once it is in use. Its methods may be called from
// any goroutine.
//
// A process needs one Cache for each kind of value: only calls of one Cache share the waiting. The
// functions are called without any mutex held, Load from many goroutines at once.
type Cache[K comparable, V any] struct {
	// Mutex returns the lock for a key. Give keys that are computed apart different names.
	Mutex func(key K) *lock.Mutex

	// Load returns the value from the cache. ok is false if the cache has none, or one that is not
	// to be used any more. An error ends Get.
	//
	// A Load may return false and no error when the cache is broken. Then one caller after the
	// other computes the value.
	Load func(ctx context.Context, key K) (value V, ok bool, err error)

	// Compute makes the value. Its context ends with the one given to Get, and when the lease is
	// lost. Compute should stop then. It must not call Get for the same key, which would wait for
	// itself.
	Compute func(ctx context.Context, key K) (V, error)

	// Store puts a value into the cache. Its context is that of Compute. The lease was valid right
	// before.
	//
	// fence is the fencing token of the lease, or 0 with NoFence. Whoever holds the lock later has
	// a larger one. A cache that keeps the token with the value can refuse a smaller one: see the
	// package's comment.
	Store func(ctx context.Context, key K, value V, fence int64) error

	queues queues[K] // of the keys that somebody waits for or computes
}

// Get returns the value of a key. It blocks for as long as Load takes. If the cache does not have
// the value, Get blocks until another caller has computed it, or this one has. ctx bounds all of
// that but the release of the lock at the end. The release takes one round trip, and at most two
// operation limits of 2 s.
//
// No value comes with an error, except if that Is [ErrNotStored]. The other errors are:
//
//   - That of [lock.Mutex.Lock]: the lock could not be had.
//   - What ended ctx, joined with context.Cause.
//   - That of Load or Compute. If the lease was lost meanwhile, it also Is [lock.ErrLost].
//   - [lock.ErrInvalid]: a field is missing.
//
// What comes of releasing the lock is for the hooks of its client to tell: it does not change the
// result. If Compute or another function panics, the lock is released and the panic goes on.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (V, error) {
	var none V
	if err := c.check(ctx); err != nil {
		return none, err
	}
	for {
		value, ok, err := c.load(ctx, key)
		if ok || err != nil {
			return value, err
		}
		q := c.queues.join(key)
		first, err := q.wait(ctx)
		switch {
		case first:
			return c.lead(ctx, key, q)
		case err != nil:
			c.queues.leave(key, q)
			return none, err
		}
		c.queues.leave(key, q)
	}
}

// check refuses what cannot work.
func (c *Cache[K, V]) check(ctx context.Context) error {
	switch {
	case c == nil:
		return invalid("the Cache is nil: make one with Mutex, Load, Compute and Store")
	case ctx == nil:
		return invalid("the context is nil: pass context.Background()")
	case c.Mutex == nil, c.Load == nil, c.Compute == nil, c.Store == nil:
		return invalid("a field of the Cache is nil: set Mutex, Load, Compute and Store")
	}
	return nil
}

func invalid(what string) error { return fmt.Errorf("once: %w: %s", lock.ErrInvalid, what) }

// load is Load with no value unless ok.
func (c *Cache[K, V]) load(ctx context.Context, key K) (value V, ok bool, err error) {
	var none V
	value, ok, err = c.Load(ctx, key)
	switch {
	case err != nil:
		return none, false, fmt.Errorf("once: load: %w", err)
	case !ok:
		return none, false, nil
	}
	return value, true, nil
}

// lead gets the value for all that wait in q.
//
// Deferred calls run from the last to the first. So the lock is released before the next one leads,
// who would else wait for a lock that this process itself holds.
func (c *Cache[K, V]) lead(ctx context.Context, key K, q *queue) (value V, err error) {
	defer func() {
		q.next() // also when a function panics
		c.queues.leave(key, q)
	}()
	m := c.Mutex(key)
	if m == nil {
		return value, invalid("Mutex returned nil: return the lock of the key")
	}
	lease, err := m.Lock(ctx)
	if err != nil {
		return value, err
	}
	defer lease.Unlock(ctx) // hooks tell what comes of it
	inner, cancel := lease.Context(ctx)
	defer cancel()
	value, ok, err := c.load(inner, key)
	switch {
	case err != nil:
		err = withLoss(lease, err)
	case !ok:
		value, err = c.compute(inner, key, lease)
	}
	if err == nil {
		c.queues.settle(key, q) // before the release: nobody here needs to wait for that
	}
	return value, err
}

// compute computes the value, and stores it if the lease is still held. It asks Valid, which looks
// at the clock. The timer that ends the context may be late.
func (c *Cache[K, V]) compute(ctx context.Context, key K, lease *lock.Lease) (V, error) {
	value, err := c.Compute(ctx, key)
	if err != nil {
		var none V
		return none, withLoss(lease, err)
	}
	if lease.Valid() {
		err = c.Store(ctx, key, value, lease.Fence())
	} else {
		err = lock.ErrLost // the lease's own error says more, but its timer may be late
	}
	if err != nil {
		return value, fmt.Errorf("%w: %w", ErrNotStored, withLoss(lease, err))
	}
	return value, nil
}

// withLoss joins an error with that of a lease which was lost.
func withLoss(lease *lock.Lease, err error) error {
	lost := lease.Err()
	switch {
	case lost == nil:
		return err
	case err == lock.ErrLost:
		return lost
	case errors.Is(err, lock.ErrLost):
		return err
	}
	return errors.Join(err, lost)
}
