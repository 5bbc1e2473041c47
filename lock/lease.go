package lock

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/renewal"
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
	hold    *hold
	cleanup runtime.Cleanup
}

// A hold is what the client keeps of a lease: without a way back to it, so that one that the program
// dropped can be noticed.
type hold struct {
	client   *Client
	term     *renewal.Term[*hold] // set before the lease is handed out; callbacks have their own
	name     string
	pool     string // the pool that the lock is a member's of; "" if none
	member   string
	id       string
	fence    int64 // 0: none
	settings settings
	since    time.Time    // when Redis had granted the lock
	late     atomic.Int64 // nanoseconds from then until it was handed out
	twice    bool         // an earlier acquire of this id may be executed late
	inDo     atomic.Bool  // Do releases it
	handing  handing
	dropped  atomic.Bool // the program dropped the lease: the next renewal ends it
	cuts     cutter

	permanent atomic.Bool // of a lease without expiry: its key was last seen to have none

	mu       sync.Mutex // guards the fields below
	contexts map[*contextEnd]struct{}
	prune    int  // at so many contexts those that have ended are looked for
	ended    bool // contexts were told
	unlock   *unlocking
}

// An unlocking is the one release of a lease, for whoever calls Unlock.
type unlocking struct {
	done chan struct{}
	err  error // set before done is closed

	// Guarded by hold.mu.
	over bool  // done is closed
	lost error // Hooks.Lost is to be told
}

func newLease(h *hold, term *renewal.Term[*hold]) *Lease {
	h.term = term
	l := &Lease{hold: h}
	l.cleanup = runtime.AddCleanup(l, leaked, h)
	return l
}

// held returns the lease's hold. It panics if there is no lease.
func (l *Lease) held() *hold {
	if l == nil || l.hold == nil {
		panic(errNoLease)
	}
	return l.hold
}

// errNoLease is the panic of using a lease that there is not.
var errNoLease = invalid("the lease is nil, or empty: Lock, TryLock and the like return one if their error is" +
	" nil, and LeaseFrom only for a context that a lease made")

// errLeaked is why a lease ended that the program dropped.
var errLeaked = &leakedError{}

type leakedError struct{}

func (*leakedError) Error() string { return "the program dropped it without Unlock" }

// leaked is called when a lease, and every context of it, has become unreachable.
//
// It only leaves a note: the runtime calls it from outside of any synctest bubble, from where the
// channels and timers of a lease in a bubble must not be touched.
func leaked(h *hold) { h.dropped.Store(true) }

// ID returns the owner id, whole. Whoever knows it can release the lock.
func (l *Lease) ID() string { return l.held().id }

// Name returns the lock's name.
func (l *Lease) Name() string { return l.held().name }

// Fence returns the fencing token, or 0 if the lock was taken with NoFence: greater for every later lease of this name, as long as Redis keeps
// its memory or the server's clock does not step back. Pass it to the resource that the lock guards,
// and let that refuse a token smaller than one it has seen: nothing else stops a holder that was
// paused and does not know that its lease has ended.
func (l *Lease) Fence() int64 { return l.held().fence }

// Valid reports whether the lease is held at this moment, by this machine's clocks; it does no I/O.
// It is exact where the context may be late, after a pause of the process. Call it right before a
// write that must not happen without the lock.
func (l *Lease) Valid() bool {
	defer runtime.KeepAlive(l)
	return l.held().term.Valid()
}

// Deadline returns when the lease ends if it is not renewed again. It is the zero time for a lease
// without expiry, as soon as Redis has made it permanent, unless MaxHold bounds it.
func (l *Lease) Deadline() time.Time { return l.held().term.Until() }

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.held().term.Done() }

// Err returns nil while the lease is held. Then it says how it ended: [ErrReleased], [ErrDetached], or
// a [*LostError], which Is [ErrLost]; after Close of the client that one Is [ErrClosed] too.
func (l *Lease) Err() error { return lost(l.held().name, l.held().term.Err()) }

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
	inner, stop := context.WithCancelCause(parent)
	end := &contextEnd{inner: inner, stop: stop}
	if !h.attach(end) {
		stop(l.Err())
	}
	return &leaseContext{Context: inner, lease: l}, func() { h.detach(end) }
}

// A leaseContext keeps its lease reachable. Contexts derived from it refer to it, and count as uses of the
// lease.
type leaseContext struct {
	context.Context
	lease *Lease
}

// A contextEnd ends a context of a lease. It does not refer to the lease, nor to its leaseContext, so that a
// program that dropped both is noticed. The hold refers to it, so that whoever kept nothing but the
// context's Done channel is told.
type contextEnd struct {
	inner context.Context
	stop  context.CancelCauseFunc
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

// attach has a context told of the lease's end. It returns false if that has been.
func (h *hold) attach(e *contextEnd) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	if h.contexts == nil {
		h.contexts = make(map[*contextEnd]struct{})
	}
	h.contexts[e] = struct{}{}
	if len(h.contexts) > h.prune { // those whose parents ended are left behind
		for e := range h.contexts {
			if e.inner.Err() != nil {
				delete(h.contexts, e)
			}
		}
		h.prune = max(2*len(h.contexts), 16)
	}
	return true
}

// detach ends a context that nobody needs any more.
func (h *hold) detach(e *contextEnd) {
	e.stop(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.contexts, e)
}

// ending is what the renewal calls at once when a term has ended.
func ending(t *renewal.Term[*hold], cause error) {
	h := t.Data()
	if errors.Is(cause, renewal.ErrClosed) {
		h.handing.withhold()
	}
	err := lost(h.name, cause)
	h.mu.Lock()
	h.ended = true
	contexts := h.contexts
	h.contexts = nil
	h.mu.Unlock()
	for e := range contexts {
		e.stop(err)
	}
}

// ended is what the renewal calls after that. While an Unlock is under way, Hooks.Lost has to wait
// for its end: a hook that calls Unlock would otherwise wait for an Unlock that waits for the hook.
func ended(t *renewal.Term[*hold], cause error) {
	h := t.Data()
	err := lost(h.name, cause)
	released := err == ErrReleased || err == ErrDetached
	h.client.stats.ended(!released)
	if released {
		return
	}
	leaked := h.dropped.Load()
	if h.settings.noExpiry && (leaked || !errors.Is(cause, renewal.ErrNotOwner)) {
		h.client.janitor.expire(h.ref(false))
	}
	h.mu.Lock()
	later := h.unlock != nil && !h.unlock.over
	if later {
		h.unlock.lost = err
	}
	h.mu.Unlock()
	if !later && !h.handing.withheld() {
		tell(h.client.hooks.Lost, LostInfo{h.name, err})
	}
	if leaked {
		tell(h.client.hooks.Leaked, LeakedInfo{h.name})
	}
}
