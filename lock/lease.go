package lock

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// A Lease is one acquisition of a lock. It is valid from Lock, TryLock or Adopt until the first of
// these:
//   - Unlock.
//   - Detach.
//   - the loss of the lease, which MaxHold brings about too.
//   - Close of the client.
//
// Once a lease has ended it stays so. A lease is a value to hand around: whoever has it may use it,
// from any goroutine.
//
// While a lease is held the client renews it, unless NoRenewal was chosen. A lease is lost, and its
// context ends, if:
//   - no renewal succeeded in time. The lease is lost before anybody else can get the lock.
//   - Redis says that somebody else or nobody holds the lock.
//
// A program that drops a lease without Unlock loses it. A lease is dropped once the garbage
// collector finds neither the lease nor a context made by it reachable. It is not renewed any more
// then. It ends at what would have been its next renewal, or when its time is up, and Hooks.Leaked
// is called. The channel of Done alone does not keep a lease. Who waits on that channel is told of
// the lease's end all the same.
//
// A context derived from one of the lease's must be cancelled before a drop can be noticed
// (context.WithCancel, context.AfterFunc and the like). Until then the lease keeps that context, so
// that it is told, and the context keeps the lease.
type Lease struct {
	lease   *engine.Lease // what the client keeps of it, without a way back to it
	cleanup runtime.Cleanup
}

// newLease returns what the program gets of a lease. Once nothing of that is reachable the client
// ends the lease.
func newLease(held *engine.Lease) *Lease {
	l := &Lease{lease: held}
	l.cleanup = runtime.AddCleanup(l, (*engine.Lease).Drop, held)
	return l
}

func leaseOf(held *engine.Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return newLease(held), nil
}

// held returns what the client keeps of the lease. It panics if there is no lease.
func (l *Lease) held() *engine.Lease {
	if l == nil || l.lease == nil {
		panic(errNoLease)
	}
	return l.lease
}

// errNoLease is the panic of using a lease that there is not.
var errNoLease = invalid("the lease is nil, or empty: Lock, TryLock and the like return one if their error is" +
	" nil, and LeaseFrom only for a context that a lease made")

// ID returns the owner id, whole. Whoever knows it can release the lock.
func (l *Lease) ID() string { return l.held().ID() }

// Name returns the lock's name.
func (l *Lease) Name() string { return l.held().Name() }

// Fence returns the fencing token, or 0 if the lock was taken with NoFence. The token is greater
// for every later lease of this name. That is so as long as Redis keeps its memory or the server's
// clock does not step back. Pass the token to the resource that the lock guards. Let the resource
// refuse a token smaller than one it has seen. Nothing else stops a holder that was paused and does
// not know that its lease has ended.
func (l *Lease) Fence() int64 { return l.held().Fence() }

// Valid reports whether the lease is held at this moment, by this machine's clocks. It does no
// input or output. It is exact where the context may be late, after a pause of the process. Call it
// right before a write that must not happen without the lock.
func (l *Lease) Valid() bool {
	defer runtime.KeepAlive(l)
	return l.held().Valid()
}

// Deadline returns when the lease ends if it is not renewed again. It returns the zero time for a
// lease without expiry, as soon as Redis has made that permanent, unless MaxHold bounds it.
func (l *Lease) Deadline() time.Time { return l.held().Deadline() }

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.held().Done() }

// Err returns nil while the lease is held. Then it says how the lease ended. The error Is:
//   - [ErrReleased] after Unlock.
//   - [ErrDetached] after Detach.
//   - [ErrLost] otherwise. The error wraps what ended the lease: [ErrMaxHold], say, [ErrWrongType],
//     the error of the last renewal, or [ErrClosed] after Close of the client.
func (l *Lease) Err() error { return l.held().Err() }

// Context returns a context that ends with the lease, or with parent, or when cancel is called. If
// it ends with the lease, its cause (context.Cause) is [Lease.Err]. It does not have the lease's
// deadline as its own, since that deadline moves.
//
// Call cancel when the context is not needed any more. Until then, or until parent ends, the lease
// keeps the context. Whoever waits on the context's Done channel is told even if he has dropped the
// lease and the context. The lease ends as dropped then.
func (l *Lease) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	h := l.held()
	if parent == nil {
		panic(invalid("the parent context is nil: pass context.Background()"))
	}
	inner, end := h.Context(parent)
	return &leaseContext{Context: inner, lease: l}, func() { h.Forget(end) }
}

// A leaseContext keeps its lease reachable. Contexts derived from it refer to it, and count as uses
// of the lease.
type leaseContext struct {
	context.Context
	lease *Lease
}

// leaseKey is the key of a context's lease.
type leaseKey struct{}

// Value makes the lease known to [LeaseFrom].
func (c *leaseContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c.lease
	}
	return c.Context.Value(key)
}

// LeaseFrom returns the lease that made ctx, or a context that ctx was derived from. Such contexts
// are that which [Mutex.Do] gives to its function, and that of [Lease.Context]. So a job under Do
// can ask Valid, and pass its fencing token on. The job must not Unlock what Do will. LeaseFrom
// returns nil if no lease made ctx.
func LeaseFrom(ctx context.Context) *Lease {
	if ctx == nil {
		panic(invalid("the context is nil: pass the one that the lease made, or Do gave"))
	}
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}
