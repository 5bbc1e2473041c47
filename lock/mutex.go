package lock

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// A Mutex is a lock's name and the settings with which it is taken. It holds nothing: each
// successful Lock or TryLock returns a [Lease], which is the one acquisition. Share it freely.
//
// Most callers want [Mutex.Do]. [Mutex.Lock] waits and [Mutex.TryLock] does not. With these two it
// is the caller who must release the lease. A Mutex is not a sync.Locker, because locking can fail.
//
// Bad names and options show at the first call, as [ErrInvalid], before anything is sent.
type Mutex struct {
	client   *Client
	name     string
	settings settings
	err      error // what is wrong with name or settings
}

// Mutex returns the lock of this name, with the client's options. It does no input or output. What
// is wrong with the name shows at the first call.
func (c *Client) Mutex(name string) *Mutex { return c.MutexWith(name, nil) }

// MutexWith is [Client.Mutex] with options of its own for this lock. Nil options are none.
func (c *Client) MutexWith(name string, o *MutexOptions) *Mutex {
	if c.missing() {
		return &Mutex{name: name, err: engine.ErrNoClient}
	}
	s, err := c.settings.with(o)
	return &Mutex{client: c, name: name, settings: s, err: errors.Join(c.checkName(name), reserved(name), err)}
}

// Do runs fn while holding the lock of this name, as [Mutex.Do] says.
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
// lock. The context that fn gets ends when the lease is lost or ctx ends. The context's cause tells
// which, see [Lease.Context]. fn must stop then: nobody else stops it. [LeaseFrom] gives the lease
// itself.
//
// Do blocks as [Mutex.Lock] does, then as long as fn runs, then at most two operation limits of 2 s
// for the release. If the lease was lost, Do does not block for the release: the lock is released
// in the background then.
//
// If fn was not run, the error is that of Lock. Else it is what fn returns, together with an error
// that Is:
//   - [ErrLost] if the lease was lost meanwhile, even if fn returned nil.
//   - [ErrUnknown] if it is not known whether the lock was released.
//
// The text of the joined error says on one line what each of the two says. If fn panics, the lock
// is released and the panic goes on.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := m.check(); err != nil {
		return err
	}
	if fn == nil {
		return invalid("the function is nil: give one to run under the lock")
	}
	return do(ctx, m.client.engine, m.Lock, func(ctx context.Context, _ *Lease) error { return fn(ctx) })
}

// TryLock takes the lock if it is free, without waiting. It blocks for one round trip, and after a
// network error for a second one. It blocks at most for two operation limits of 2 s, and no longer
// than until ctx ends. ctx does not bound the lease.
//
// No lease is held after an error. The error Is:
//   - [ErrHeld], as a [*HeldError], if somebody holds the lock.
//   - [ErrAlreadyHeld] if the lock is held under the id that MutexOptions.ID gives.
//   - [ErrUnknown] if Redis may have granted the lock without our learning of it. What was granted
//     is cleaned up in the background, for two minutes after the call. Under a given id it is left
//     to expire.
//
// Any other error says what kept Redis from answering.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.TryLock(ctx, m.want()))
}

// Lock takes the lock. It waits while somebody else holds the lock, until it gets the lock or ctx
// ends. ctx does not bound the lease. The waiting does not poll. Calls in this process that wait
// for the same name get the lock in the order of the calls.
//
// How Lock works for a name N:
//  1. Lock asks once, with a script that puts a fresh id at lock:N if that key is free.
//  2. If it is taken, or others here wait for N, the call stands in this client's queue for N. Only
//     the head of the queue asks Redis.
//  3. One connection blocks (BLPOP) for up to 64 names, on their signal lists. A release pushes
//     there.
//  4. The head asks again after a signal, or when the holder's time is up.
//  5. Once a second the client looks at all names it waits for. So a lost signal costs a second.
//  6. An acquire without a reply is repeated under the same id. That goes over a new connection,
//     after Redis was told to end the one before it.
//  7. What a call that gave up may have taken is released in the background, by its id.
//  8. The lease counts from before the acquire was sent, less the margin: it ends before the key
//     does.
//  9. The lease is renewed about every third of the TTL until Unlock, in batches with others.
//
// Lock outlasts network errors, restarts and passing states of Redis such as LOADING or OOM, until
// ctx ends, and tells Hooks.Retrying. It returns at once:
//   - network errors, until the client has reached Redis.
//   - READONLY and MOVED, which say that this server is the wrong one, until an acquire was
//     answered.
//   - what will not pass: a refused password or right, [ErrWrongType], [ErrAlreadyHeld],
//     [ErrTooManyWaiters], [ErrClosed].
//
// No lease is held after an error. When ctx ends, the error Is ctx.Err() and context.Cause(ctx),
// and carries the errors met while waiting. It also Is:
//   - [ErrHeld], as the [*HeldError] that Redis last answered, if it answered one.
//   - [ErrUnknown] if an acquire was under way. That acquire is cleaned up in the background.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.Lock(ctx, m.want()))
}

// want returns what Lock and TryLock want.
func (m *Mutex) want() engine.Want {
	return engine.Want{
		Target:   &engine.Named{Store: m.client.store, Lock: m.name, ID: m.settings.id},
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

// errNoMutex is the error of using a mutex that no client made. Where no error is returned it is
// the panic's.
var errNoMutex = invalid("the mutex is nil, or empty: use one that Client.Mutex or Client.MutexWith returned")
