package lock

import "time"

// Hooks are told what happens in a client. Every field may be nil.
//
// A hook is called with no mutex of the client held, on the goroutine that its comment names, which
// waits for it: a hook that blocks delays what that goroutine does, and one that is called by the
// renewing goroutine can cost leases. No hook may call Close or Shutdown. What hooks are given never
// carries the random part of an owner's id.
type Hooks struct {
	// Acquired: a lease began. On the caller's goroutine, before Lock or TryLock returns.
	Acquired func(AcquiredInfo)
	// Waiting: somebody else holds the lock, and the caller of Lock goes on waiting. At the first
	// refusal and after every later one, on the caller's goroutine.
	Waiting func(WaitingInfo)
	// Renewed: Redis confirmed a renewal. On the renewing goroutine.
	Renewed func(RenewedInfo)
	// RenewalFailed: a renewal failed and will be tried again, until the lease ends. On the renewing
	// goroutine.
	RenewalFailed func(RenewalFailedInfo)
	// Lost: a lease ended before it was released. After its context has ended, on the goroutine that
	// noticed: the renewing one, a timer's, or the one that called Unlock, Extend or Close.
	Lost func(LostInfo)
	// Released: Unlock, or Close, has done what it could. On its goroutine.
	Released func(ReleasedInfo)
	// Reconnecting: a connection for waiting broke and will be made anew. On its goroutine.
	Reconnecting func(ReconnectingInfo)
	// Degraded: Redis refuses the BLPOP command to this user. Waiting goes on by looking once a
	// second and by timers. Once per client, on the goroutine of the connection for waiting.
	Degraded func(DegradedInfo)
	// Leaked: the program dropped a lease without releasing it. It is not renewed any more; Lost is
	// called as well. On the runtime's goroutine for clean-ups.
	Leaked func(LeakedInfo)
}

// AcquiredInfo is told to Hooks.Acquired.
type AcquiredInfo struct {
	Name   string
	Label  string        // ours
	Fence  int64         // the fencing token
	Waited time.Duration // since Lock or TryLock was called
	Until  time.Time     // when the lease ends if it is not renewed
}

// WaitingInfo is told to Hooks.Waiting.
type WaitingInfo struct {
	Name   string
	Owner  Owner         // who holds it, without its ID
	Waited time.Duration // since Lock was called
}

// RenewedInfo is told to Hooks.Renewed.
type RenewedInfo struct {
	Name  string
	Until time.Time // when the lease ends if it is not renewed again
}

// RenewalFailedInfo is told to Hooks.RenewalFailed.
type RenewalFailedInfo struct {
	Name  string
	Err   error
	Until time.Time // when the lease ends if no renewal succeeds
}

// LostInfo is told to Hooks.Lost.
type LostInfo struct {
	Name string
	Err  error // what Lease.Err says: a *LostError
}

// ReleasedInfo is told to Hooks.Released.
type ReleasedInfo struct {
	Name string
	Err  error // what Unlock returns
}

// ReconnectingInfo is told to Hooks.Reconnecting.
type ReconnectingInfo struct{ Err error }

// DegradedInfo is told to Hooks.Degraded.
type DegradedInfo struct{ Err error }

// LeakedInfo is told to Hooks.Leaked.
type LeakedInfo struct{ Name string }

// tell calls a hook that may be nil.
func tell[I any](hook func(I), info I) {
	if hook != nil {
		hook(info)
	}
}
