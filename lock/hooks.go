package lock

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Hooks are told what happens in a client. Every field may be nil. [LogHooks] returns hooks that
// write a log, and [JoinHooks] makes one Hooks of several.
//
// Every hook gets an [Event]. The comment of each hook ends with the fields that it sets.
//
// A hook is called with no mutex of the client held. The goroutine that the hook's comment names
// calls it and waits for it. So a hook that blocks delays what that goroutine does. On the renewing
// goroutine it can cost every lease of the client. On the caller's goroutine it keeps the call
// beyond the end of its context, and beyond what is said of how long the call blocks. A hook that
// panics does so on that goroutine.
//
// A hook may call every method of a Lease, a Mutex or the Client but Close and Shutdown, which
// would wait for the hook. A hook should not wait for a lock. Several goroutines call hooks at
// once, and only the calls of one goroutine come in order. So Renewed and Lost of a short lease can
// come before its Acquired has returned. No event carries the random part of an owner's id.
type Hooks struct {
	// Acquired: a lease began. Once per lease, on the caller's goroutine, before Lock, TryLock or
	// Adopt returns; the lease runs meanwhile. If the hook panics, nobody has the lease: it is
	// renewed until the garbage collector has found that.
	//
	// Sets Name, Owner (only its Label, ours), Fence, Waited and Until.
	Acquired func(Event)

	// Waiting: the caller of Lock asked, somebody else holds the lock, and the caller goes on
	// waiting. At each refusal, on the caller's goroutine. The first refusal comes at once. If
	// others of this client wait for the same lock, it comes when the caller's turn has come. Later
	// ones come when the caller asked again: when somebody else was quicker after a release or an
	// expiry, or after trouble with Redis. They also come now and then while a holder renews a TTL
	// under 3 s. So a caller that waits for a long job is told once. Those behind it in this client
	// wait for the hook.
	//
	// Sets Name, Owner (who holds the lock, without the ID) and Waited.
	Waiting func(Event)

	// Renewed: Redis confirmed a renewal; Extend is none. About every third of the TTL for each
	// lease, every 10 s for one without expiry, on the renewing goroutine.
	//
	// Sets Name and Until.
	Renewed func(Event)

	// RenewalFailed: a renewal failed and will be tried again, until the lease ends. At each
	// failure for each lease, on the renewing goroutine. While Redis refuses at once, that is every
	// 20 to 200 ms, and more often for TTLs under 1.2 s.
	//
	// Sets Name, Until and Err.
	RenewalFailed func(Event)

	// Lost: a lease ended before it was released or detached. Once per lease, after its contexts
	// have ended, on the goroutine that noticed. That is the renewing one, a timer's, or the one
	// that took a lock without expiry or called Unlock, Detach, Extend, ExtendBy, Verify or Close.
	// The goroutine of Close tells of all leases one after the other. The hook may call Unlock,
	// which says what it says of a lost lease. If only Unlock or Detach finds the lock gone,
	// Lease.Err stays what it is after those.
	//
	// Sets Name and Err.
	Lost func(Event)

	// Released: Unlock, or Close, has done what it could, for a lost lease too. Once per lease, on
	// the goroutine of the first call of Unlock, before that returns, or of Close. It is not told
	// after Detach, nor of what Close leaves to expire. It is not told again when a release of
	// unknown outcome is repeated in the background.
	//
	// Sets Name and Err (what Unlock returns, which may be nil).
	Released func(Event)

	// Retrying: an attempt of Lock failed for a reason that may pass, and Lock will try again until
	// its context ends. Redis is away, or in a state in which it refuses locks: LOADING, OOM,
	// READONLY and the like. It is called on the caller's goroutine, but not for each attempt. For
	// each kind of error, told by its code, the client tells of the first one. It tells of one more
	// after 1, 2, 4 s and so on, up to once a minute, whatever the number of locks and calls. After
	// a minute without that error it counts as new. Stats.Retries counts all. It is told of all
	// that waits by Lock, as package once does.
	//
	// Sets Name, Waited, Err and Times.
	Retrying func(Event)

	// Reconnecting: a connection for waiting broke, or could not be made, and will be made anew. On
	// the goroutine of that connection: waiters depend on their timers meanwhile. As often as
	// Retrying, for each kind of error. The calls and renewals that need the client's other
	// connections make those anew, and get the error.
	//
	// Sets Err and Times.
	Reconnecting func(Event)

	// Degraded: Redis refuses the BLPOP command, because it does not know the command or because
	// this user has no right to it. Waiting goes on by looking once a second and by timers. Once
	// per client, on the goroutine of the connection for waiting.
	//
	// Sets Err.
	Degraded func(Event)

	// Leaked: the program dropped a lease that was held without releasing it, and the garbage
	// collector noticed. The lease is not renewed any more, and its key is left to expire. Once per
	// lease, right after its Lost. That is on the renewing goroutine when the lease would have been
	// renewed, or on a timer's when its time is up. A lease that a hook can reach is not dropped.
	// Nor is one while a context that was derived from a context of its own is not cancelled.
	//
	// Sets Name.
	Leaked func(Event)

	// Warning: something is wrong that somebody should look at, and goes on all the same. There are
	// two warnings, told apart by their Name.
	//
	// With a Name: the lock's key is to live longer than its lease ever asked for. Somebody changed
	// its TTL, or the server's clock was set back. If the program dies before the next renewal or
	// Extend sets it right, the lock stays held for that long. Once per lease; each time, if the
	// key had no TTL any more and was given one. On the goroutine that noticed, before what Redis
	// confirmed counts: the renewing one, or the one that called Extend.
	//
	// Without a Name: the URL given to Open has a password but no TLS, and an address that is not
	// this machine's. The address says that by its own text: this machine's are localhost,
	// 127.0.0.0/8, ::1 and a unix socket. On the goroutine that called Open, before that returns.
	// What a redis.Pool given to New does is not known.
	//
	// Sets Name, if it is about a lock, and Err.
	Warning func(Event)
}

// An Event is what a hook is told. A field that the hook does not set is zero.
type Event struct {
	// Name is the lock's; for Waiting and Retrying that of what is waited for. It is "" for
	// Reconnecting and Degraded, and for a Warning that is about the client.
	Name string

	// Owner says for Waiting who holds the lock, without the ID. For Acquired only its Label is
	// set, to ours.
	Owner Owner

	// Fence is the fencing token of an Acquired lease. It is 0 if there is none.
	Fence int64

	// Waited is the time that has passed.
	//   - Acquired: since Lock, TryLock or Adopt was called.
	//   - Waiting: since Lock was called.
	//   - Retrying: since this call of Lock met the first error in a row.
	Waited time.Duration

	// Until is when the lease ends, as Acquired, Renewed and RenewalFailed tell it. It is zero for
	// a lease that never ends.
	//   - Acquired: if it is not renewed.
	//   - Renewed: if it is not renewed again.
	//   - RenewalFailed: if no renewal succeeds.
	Until time.Time

	// Err says what went wrong.
	//   - RenewalFailed: the error of the renewal.
	//   - Lost: what Lease.Err says, which Is [ErrLost].
	//   - Released: what Unlock returns, nil if all went well.
	//   - Retrying: the error of the last attempt.
	//   - Reconnecting, Degraded: the error of the connection for waiting.
	//   - Warning: what is wrong and what to do. No call returns that error.
	Err error

	// Times says how often it happened.
	//   - Retrying: how many attempts of this call of Lock have failed in a row.
	//   - Reconnecting: how often since the last time that it was told, this time included.
	Times int
}

// A warning is the error of an Event that Hooks.Warning gets: advice, which no call returns.
type warning string

func (w warning) Error() string { return string(w) }

// passwordInClear repeats nothing of the URL, as the errors of Open do not.
const passwordInClear warning = "the password is sent without TLS to a host that is not this one," +
	" and so can be read on the way: use rediss:// or a unix socket"

// strangeTTL returns the warning about a key whose TTL somebody else changed.
func strangeTTL(s engine.StrangeTTL) warning {
	if s.Removed {
		return "somebody took the TTL from the lock's key, so that it would have stayed held if" +
			" this program had died; it has its TTL again: look at who else writes to the key"
	}
	return warning(fmt.Sprintf(
		"Redis keeps the lock's key for %v, and its lease never asked for more than %v: somebody"+
			" else changed its TTL, or the server's clock was set back. It is set right at once;"+
			" if the program dies before, the lock stays held: look at who else writes to the key"+
			" and at the server's clock, and release a lock that stays behind with Reset",
		s.TTL.Round(time.Second), s.Longest,
	))
}

// events are what tells these hooks of what happens in an engine.
func (h Hooks) events() engine.Events {
	return engine.Events{
		Acquired: told(h.Acquired, func(a engine.Acquired) Event {
			return Event{
				Name: a.Name, Owner: Owner{Label: a.Label}, Fence: a.Fence,
				Waited: a.Waited, Until: a.Until,
			}
		}),
		Waiting: told(h.Waiting, func(w engine.Waiting) Event {
			return Event{Name: w.Name, Owner: ownerOf(w.Name, w.Held).anonymous(), Waited: w.Waited}
		}),
		Renewed: told(h.Renewed, func(r engine.Renewed) Event {
			return Event{Name: r.Name, Until: r.Until}
		}),
		RenewalFailed: told(h.RenewalFailed, func(r engine.RenewalFailed) Event {
			return Event{Name: r.Name, Until: r.Until, Err: r.Err}
		}),
		Lost: told(h.Lost, func(l engine.Lost) Event {
			return Event{Name: l.Name, Err: l.Err}
		}),
		Released: told(h.Released, func(r engine.Released) Event {
			return Event{Name: r.Name, Err: r.Err}
		}),
		Retrying: told(h.Retrying, func(r engine.Retrying) Event {
			return Event{Name: r.Name, Waited: r.For, Err: r.Err, Times: r.Times}
		}),
		Reconnecting: told(h.Reconnecting, func(r engine.Reconnecting) Event {
			return Event{Err: r.Err, Times: r.Times}
		}),
		Degraded: told(h.Degraded, func(err error) Event { return Event{Err: err} }),
		Leaked:   told(h.Leaked, func(name string) Event { return Event{Name: name} }),
		StrangeTTL: told(h.Warning, func(s engine.StrangeTTL) Event {
			return Event{Name: s.Name, Err: strangeTTL(s)}
		}),
	}
}

// told returns what an engine calls for a hook: nil for one that is not set.
func told[E any](hook func(Event), event func(E) Event) func(E) {
	if hook == nil {
		return nil
	}
	return func(e E) { hook(event(e)) }
}
