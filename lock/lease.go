package lock

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// A Lease is one acquisition of a lock. It is valid from Lock, TryLock or Adopt until the first of:
// Unlock; Detach; its loss, which MaxHold brings about too; Close of the client. It is a value to hand around: whoever has it may use it, from any
// goroutine. Once it has ended it stays so.
//
// While it is held the client renews it, unless NoRenewal was chosen. It is lost, and its context
// ends, when no renewal succeeded in time (before anybody else can get the lock), or when Redis says
// that somebody else or nobody holds the lock.
//
// A program that drops a lease without Unlock loses it: once the garbage collector finds neither it
// nor a context made by it reachable, it is not renewed any more, it ends at what would have been its
// next renewal or when its time is up, and Hooks.Leaked is called. The channel of Done alone holds
// nothing; who waits on it is told of the lease's end all the same. This is not noticed as long as a
// context that was derived from one of the lease's (context.WithCancel, context.AfterFunc and the like)
// was not cancelled: the lease keeps it, so that it is told, and it keeps the lease.
type Lease struct {
	lease   *engine.Lease // what the client keeps of it, without a way back to it
	cleanup runtime.Cleanup
}

// newLease returns what the program gets of a lease. Once nothing of that is reachable the client ends the
// lease.
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

// Fence returns the fencing token, or 0 if the lock was taken with NoFence: greater for every later lease of this name, as long as Redis keeps
// its memory or the server's clock does not step back. Pass it to the resource that the lock guards,
// and let that refuse a token smaller than one it has seen: nothing else stops a holder that was
// paused and does not know that its lease has ended.
func (l *Lease) Fence() int64 { return l.held().Fence() }

// Valid reports whether the lease is held at this moment, by this machine's clocks; it does no I/O.
// It is exact where the context may be late, after a pause of the process. Call it right before a
// write that must not happen without the lock.
func (l *Lease) Valid() bool {
	defer runtime.KeepAlive(l)
	return l.held().Valid()
}

// Deadline returns when the lease ends if it is not renewed again. It is the zero time for a lease
// without expiry, as soon as Redis has made it permanent, unless MaxHold bounds it.
func (l *Lease) Deadline() time.Time { return l.held().Deadline() }

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.held().Done() }

// Err returns nil while the lease is held. Then it says how the lease ended:
//   - [ErrReleased] or [ErrDetached];
//   - an error that Is [ErrLost] and wraps what ended it, such as [ErrMaxHold], [ErrWrongType], the
//     error of the last renewal, or [ErrClosed] after Close of the client.
func (l *Lease) Err() error { return l.held().Err() }

// Context returns a context that ends with the lease, or with parent, or when cancel is called. Its
// cause (context.Cause) is [Lease.Err] in the first case. It does not have the lease's deadline as
// its own, since that moves. Call cancel when the context is not needed any more: until then, or until
// parent ends, the lease keeps it. Whoever waits on its Done channel is told even if he has dropped the
// lease and the context; then the lease ends as dropped.
func (l *Lease) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	h := l.held()
	if parent == nil {
		panic(invalid("the parent context is nil: pass context.Background()"))
	}
	inner, end := h.Context(parent)
	return &leaseContext{Context: inner, lease: l}, func() { h.Forget(end) }
}

// A leaseContext keeps its lease reachable. Contexts derived from it refer to it, and count as uses of the
// lease.
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

// LeaseFrom returns the lease that made ctx, or a context that ctx was derived from: that of [Mutex.Do]
// for the context that it gives to its function, and that of [Lease.Context]. So a job under Do can ask
// Valid, and pass its fencing token on. It must not Unlock what Do will. It is nil if there is none.
func LeaseFrom(ctx context.Context) *Lease {
	if ctx == nil {
		panic(invalid("the context is nil: pass the one that the lease made, or Do gave"))
	}
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}
