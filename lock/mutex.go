package lock

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// A Mutex is a lock's name and the settings with which it is taken. It holds nothing: each
// successful Lock or TryLock returns a [Lease], which is the one acquisition. Share it freely.
//
// Most callers want [Mutex.Do]. [Mutex.Lock] waits and [Mutex.TryLock] does not; with them it is
// the caller who must release the lease. It is not a sync.Locker, because locking can fail.
//
// Bad names and options show at the first call, as [ErrInvalid], before anything is sent.
type Mutex struct {
	client   *Client
	name     string
	settings settings
	err      error // what is wrong with name or settings
}

// Mutex returns the lock of this name, with the client's options. It does no I/O; what is wrong with
// the name shows at the first call.
func (c *Client) Mutex(name string) *Mutex { return c.MutexWith(name, nil) }

// MutexWith is [Client.Mutex] with options of its own for this lock; nil is none.
func (c *Client) MutexWith(name string, o *MutexOptions) *Mutex {
	if c.missing() {
		return &Mutex{name: name, err: engine.ErrNoClient}
	}
	s, err := c.settings.with(o)
	return &Mutex{client: c, name: name, settings: s, err: errors.Join(c.checkName(name), reserved(name), err)}
}

// Do runs fn while holding the lock of this name; see [Mutex.Do].
func (c *Client) Do(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return c.Mutex(name).Do(ctx, fn)
}

// Name returns the lock's name.
func (m *Mutex) Name() string {
	if m == nil {
		panic(errNoMutex)
	}
	return m.name
}

// Do waits for the lock, runs fn while holding it, and releases it. fn is never run without the
// lock. The context that it gets ends when the lease is lost or ctx ends; its cause tells which, see
// [Lease.Context]. fn must stop then: nobody else does it. [LeaseFrom] gives the lease itself.
//
// Do blocks as [Mutex.Lock] does, then as long as fn runs, then at most two operation limits of 2 s
// for the release; if the lease was lost, not at all, since the lock is released in the background then.
// If fn was not run, the error is that of Lock. Else it is what fn returns, together with:
//   - an error that Is [ErrLost] if the lease was lost meanwhile, even if fn returned nil;
//   - one that Is [ErrUnknown] if it is not known whether the lock was released.
//
// Its text says on one line what each of the two says. If fn panics, the lock is released and the panic
// goes on.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := m.check(); err != nil {
		return err
	}
	if fn == nil {
		return invalid("the function is nil: give one to run under the lock")
	}
	return do(ctx, m.client.engine, m.Lock, func(ctx context.Context, _ *Lease) error { return fn(ctx) })
}

// TryLock takes the lock if it is free, without waiting. It blocks for one round trip; after a
// network error for a second one; at most for two operation limits of 2 s, and no longer than until
// ctx ends. ctx does not bound the lease.
//
// If somebody holds the lock the error is a [*HeldError], or Is [ErrAlreadyHeld] if it is held under the
// id that MutexOptions.ID gives. It Is [ErrUnknown] if Redis may have granted the lock without our
// learning of it; that is cleaned up in the background, for two minutes after the call, or left to expire
// under a given id. Any other error says what kept Redis from answering. No lease is held after an error.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.TryLock(ctx, m.want()))
}

// Lock takes the lock, and waits for it while somebody else holds it: until it gets it or ctx ends.
// ctx does not bound the lease. The waiting does not poll; whoever waits in this process for the
// same name gets the lock in the order of the calls.
//
// Lock outlasts network errors, restarts and passing states of Redis such as LOADING or OOM, until ctx
// ends, and tells Hooks.Retrying. It returns at once
//   - network errors, until the client has reached Redis;
//   - READONLY and MOVED, which say that this server is the wrong one, until an acquire was answered;
//   - what will not pass: a refused password or right, [ErrWrongType], [ErrAlreadyHeld],
//     [ErrTooManyWaiters], [ErrClosed].
//
// When ctx ends, the error Is ctx.Err() and context.Cause(ctx), and also carries the [*HeldError]
// that Redis last answered and the errors met while waiting. It Is [ErrUnknown] if an acquire was
// under way; that is cleaned up in the background. No lease is held after an error.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.Lock(ctx, m.want()))
}

// want returns what Lock and TryLock want.
func (m *Mutex) want() engine.Want {
	return engine.Want{
		Target:   &engine.Name{Store: m.client.store, Lock: m.name, ID: m.settings.id},
		Settings: m.settings.Settings,
		Op:       "acquire",
	}
}

// check returns what is wrong with the mutex itself.
func (m *Mutex) check() error {
	if m == nil || m.err == nil && m.client.missing() {
		return errNoMutex
	}
	return m.err
}

// errNoMutex is the error of using a mutex that no client made; where no error is returned it is the panic's.
var errNoMutex = invalid("the mutex is nil, or empty: use one that Client.Mutex or Client.MutexWith returned")
