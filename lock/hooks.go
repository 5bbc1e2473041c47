package lock

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Hooks are told what happens in a client. Every field may be nil. [LogHooks] are ready ones for a
// log, and [JoinHooks] makes one of several.
//
// A hook is called with no mutex of the client held, on the goroutine that its comment names, which
// waits for it. So one that blocks delays what that goroutine does: on the renewing goroutine it can
// cost every lease of the client, on the caller's it keeps the call beyond its context's end, and
// beyond what is said of how long it blocks. One that panics does so on that goroutine.
//
// A hook may call every method of a Lease, a Mutex or the Client but Close and Shutdown, which would
// wait for it; but it should not wait for a lock. Hooks are called from several goroutines at once,
// and only those of one goroutine come in order: Renewed and Lost of a short lease can come before
// its Acquired has returned. What they are given never carries the random part of an owner's id.
type Hooks struct {
	// Acquired: a lease began. Once per lease, on the caller's goroutine, before Lock, TryLock or Adopt
	// returns; the lease runs meanwhile. If it panics nobody has the lease: it is renewed until the garbage
	// collector has found that.
	Acquired func(AcquiredInfo)
	// Waiting: the caller of Lock asked, somebody else holds the lock, and the caller goes on waiting.
	// At each refusal, on the caller's goroutine. The first comes at once, or, if others of this client
	// wait for the same lock, when its turn has come. Later ones come when it asked again: when somebody
	// else was quicker after a release or an expiry, after trouble with Redis, and now and then while a
	// holder renews a TTL under 3 s. So one that waits for a long job is told once. Those behind it in
	// this client wait for the hook.
	Waiting func(WaitingInfo)
	// Renewed: Redis confirmed a renewal; Extend is none. About every third of the TTL for each lease, every
	// 10 s for one without expiry, on the renewing goroutine.
	Renewed func(RenewedInfo)
	// RenewalFailed: a renewal failed and will be tried again, until the lease ends. At each failure
	// for each lease, which is every 20 to 200 ms (more often for TTLs under 1.2 s) while Redis refuses
	// at once, on the renewing goroutine.
	RenewalFailed func(RenewalFailedInfo)
	// Lost: a lease ended before it was released or detached. Once per lease, after its contexts have
	// ended, on the goroutine that noticed: the renewing one, a timer's, or the one that called Unlock,
	// Detach, Extend, ExtendBy, Verify or Close, or took a lock without expiry; that of Close tells of all
	// leases one after the other. It may call Unlock, which says what it says of a lost lease. If it is
	// only Unlock or Detach that finds the lock gone, Lease.Err stays what it is after those.
	Lost func(LostInfo)
	// Released: Unlock, or Close, has done what it could, for a lost lease too. Once per lease, on the
	// goroutine of the first call of Unlock, before that returns, or of Close. Not after Detach, not for
	// what Close leaves to expire, and not again when a release of unknown outcome is repeated in the
	// background.
	Released func(ReleasedInfo)
	// Retrying: an attempt of Lock failed for a reason that may pass, and Lock will try again until its
	// context ends. Redis is away, or in a state in which it refuses locks: LOADING, OOM, READONLY and the
	// like. It is called on the caller's goroutine, but not for each attempt. For each kind of error, told
	// by its code, the client tells of the first one. It tells of one more after 1, 2, 4 s and so on, up
	// to once a minute, whatever the number of locks and calls. After a minute without that error it
	// counts as new. Stats.Retries counts all. It is told of all that waits by Lock, as package once does.
	Retrying func(RetryingInfo)
	// Reconnecting: a connection for waiting broke, or could not be made, and will be made anew. On the
	// goroutine of that connection: waiters depend on their timers meanwhile. As often as Retrying, for
	// each kind of error. The client's other connections are made anew by the calls and renewals that
	// need them, which get the error.
	Reconnecting func(ReconnectingInfo)
	// Degraded: Redis refuses the BLPOP command, because it does not know it or because this user has
	// no right to it. Waiting goes on by looking once a second and by timers. Once per client, on the
	// goroutine of the connection for waiting.
	Degraded func(DegradedInfo)
	// Leaked: the program dropped a lease that was held without releasing it, and the garbage collector
	// noticed. It is not renewed any more, and its key is left to expire. Once per lease, right after its
	// Lost: when it would have been renewed, on the renewing goroutine, or when its time is up, on a
	// timer's. A lease that a hook can reach is not dropped, nor is one as long as a context that was derived
	// from a context of its own was not cancelled.
	Leaked func(LeakedInfo)
	// Warning: something is wrong that somebody should look at, and goes on all the same; see
	// [WarningKind] for what, how often and on which goroutine.
	Warning func(WarningInfo)
}

// AcquiredInfo is told to Hooks.Acquired.
type AcquiredInfo struct {
	Name   string
	Label  string        // ours
	Fence  int64         // the fencing token; 0: there is none
	Waited time.Duration // since Lock, TryLock or Adopt was called
	Until  time.Time     // when the lease ends if it is not renewed; zero: never
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
	Until time.Time // when the lease ends if it is not renewed again; zero: never
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

// RetryingInfo is told to Hooks.Retrying.
type RetryingInfo struct {
	Name  string        // of what is waited for
	Err   error         // of the last attempt
	For   time.Duration // since this call of Lock met the first error in a row
	Times int           // how many attempts of this call have failed in a row
}

// ReconnectingInfo is told to Hooks.Reconnecting.
type ReconnectingInfo struct {
	Err   error
	Times int // how often that happened since the last time that it was told, this time included
}

// DegradedInfo is told to Hooks.Degraded.
type DegradedInfo struct{ Err error }

// LeakedInfo is told to Hooks.Leaked.
type LeakedInfo struct{ Name string }

// WarningInfo is told to Hooks.Warning.
type WarningInfo struct {
	Kind WarningKind
	Name string // of the lock; "" if it is about the client
	Text string // what is wrong, and what to do
}

// A WarningKind says what a warning is about.
type WarningKind int

const (
	// WarningTTLChanged: the lock's key is to live longer than its lease ever asked for. Somebody
	// changed its TTL, or the server's clock was set back; if the program dies before the next renewal
	// or Extend sets it right, the lock stays held for that long. Once per lease; each time, if the key had
	// no TTL any more and was given one. On the goroutine that noticed: the renewing one, or the one that
	// called Extend, before what Redis confirmed counts.
	WarningTTLChanged WarningKind = iota + 1
	// WarningPasswordInClear: the URL given to Open has a password, and neither TLS nor an address that
	// is this machine's by its own text (localhost, 127.0.0.0/8, ::1, a unix socket). On the goroutine
	// that called Open, before that returns. What a redis.Pool given to New does is not known.
	WarningPasswordInClear
)

// String names the kind in lower case.
func (k WarningKind) String() string {
	switch k {
	case WarningTTLChanged:
		return "ttl changed"
	case WarningPasswordInClear:
		return "password in clear"
	default:
		return "unknown"
	}
}

// passwordInClear repeats nothing of the URL, as the errors of Open do not.
var passwordInClear = WarningInfo{
	Kind: WarningPasswordInClear,
	Text: "the password is sent without TLS to a host that is not this one, and so can be read on the" +
		" way: use rediss:// or a unix socket",
}

// strangeTTL returns the warning about a key whose TTL somebody else changed.
func strangeTTL(s engine.StrangeTTL) WarningInfo {
	if s.Removed {
		return WarningInfo{Kind: WarningTTLChanged, Name: s.Name, Text: "somebody took the TTL from the lock's key," +
			" so that it would have stayed held if this program had died; it has its TTL again: look at who" +
			" else writes to the key"}
	}
	return WarningInfo{Kind: WarningTTLChanged, Name: s.Name, Text: fmt.Sprintf(
		"Redis keeps the lock's key for %v, and its lease never asked for more than %v: somebody else"+
			" changed its TTL, or the server's clock was set back. It is set right at once; if"+
			" the program dies before, the lock stays held: look at who else writes to the key and at"+
			" the server's clock, and release a lock that stays behind with Reset",
		s.TTL.Round(time.Second), s.Longest,
	)}
}

// events are what tells these hooks of what happens in an engine.
func (h Hooks) events() engine.Events {
	return engine.Events{
		Acquired: told(h.Acquired, func(a engine.Acquired) AcquiredInfo { return AcquiredInfo(a) }),
		Waiting: told(h.Waiting, func(w engine.Waiting) WaitingInfo {
			return WaitingInfo{w.Name, ownerOf(w.Name, w.Held).anonymous(), w.Waited}
		}),
		Renewed:       told(h.Renewed, func(r engine.Renewed) RenewedInfo { return RenewedInfo(r) }),
		RenewalFailed: told(h.RenewalFailed, func(r engine.RenewalFailed) RenewalFailedInfo { return RenewalFailedInfo(r) }),
		Lost:          told(h.Lost, func(l engine.Lost) LostInfo { return LostInfo(l) }),
		Released:      told(h.Released, func(r engine.Released) ReleasedInfo { return ReleasedInfo(r) }),
		Retrying:      told(h.Retrying, func(r engine.Retrying) RetryingInfo { return RetryingInfo(r) }),
		Reconnecting:  told(h.Reconnecting, func(r engine.Reconnecting) ReconnectingInfo { return ReconnectingInfo(r) }),
		Degraded:      told(h.Degraded, func(err error) DegradedInfo { return DegradedInfo{err} }),
		Leaked:        told(h.Leaked, func(name string) LeakedInfo { return LeakedInfo{name} }),
		StrangeTTL:    told(h.Warning, strangeTTL),
	}
}

// told returns what an engine calls for a hook: nil for one that is not set.
func told[E, I any](hook func(I), info func(E) I) func(E) {
	if hook == nil {
		return nil
	}
	return func(e E) { hook(info(e)) }
}

// tell calls a hook that may be nil.
func tell[I any](hook func(I), info I) {
	if hook != nil {
		hook(info)
	}
}
