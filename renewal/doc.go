// Package renewal keeps a set of leases fresh and ends each of them in time when it cannot. It knows
// no store. The caller hands it a function that extends a batch of leases, and it calls that in time.
//
// A lease is a [Term] here, because one acquisition is one term and a later one under the same
// name is another. A [Set] renews its terms in batches from one goroutine. It ends those that were
// lost from timers of their own:
//
//	// The Data of these terms is the *Job that runs under them.
//	set := renewal.New(extend, &renewal.Options[*Job]{Ended: report})
//	defer set.Close(nil)
//
//	sent := renewal.Now()          // before the acquire is sent, not when its reply is here
//	... acquire the lease in the store for 30 s ...
//	term, err := set.Add(job, renewal.Config{TTL: 30 * time.Second, Margin: time.Second, Sent: sent})
//	if err != nil {
//		... the reply came too late: give the lease back ...
//	}
//	select {
//	case <-term.Done():            // lost: term.Err says why
//	case <-finished:
//		if term.End(errDone) { // nothing is renewed from here on
//			... give the lease back ...
//		}
//	}
//
// # Time
//
// A term is believed in until validUntil. That is the instant before the send of the last confirmed
// acquire or extend, + TTL - margin. An [Instant] is a reading of the monotonic and of the wall clock.
// ValidUntil has passed as soon as either of the two says so. The monotonic clock stands still while
// a machine sleeps, and the wall clock can be set back.
//
// A term is renewed min(TTL/3, (TTL-margin)/2) after the send of the last confirmed extend. An
// attempt may take min(TTL/6, 2 s) and never lasts past validUntil. One that fails is repeated
// after 20 to 200 ms (less for TTLs under 1.2 s), whatever the error, until validUntil.
//
// Config.MaxHold bounds validUntil: it never passes Sent + MaxHold, by either clock. The renewals
// take no notice. Their interval and their limit are what they would be without it. So a loss is
// noticed as early in the last stretch as before.
//
// Config.NoExpiry is for a store whose lease does not expire once it was made permanent. Until that
// is confirmed the term is as any other. From then on validUntil is never, or Sent + MaxHold. What
// was a renewal is a check of whether the lease is still ours, as often. One that fails is repeated
// after 1 to 2 s (less for TTLs under 12 s), for as long as it takes. [Term.Retime] leaves such a
// term as it is.
//
// # Guarantees
//
//  1. Only a confirmed extend moves validUntil forward, and only to its own send + TTL - margin, or
//     to never with NoExpiry. A confirmation that is processed after validUntil is never a success:
//     the term has expired.
//  2. A term ends at its validUntil whatever the extend function does, a call that hangs for ever
//     included. The cause is [ErrExpired], or [ErrMaxHold] if that was reached. [Term.Valid] is false
//     from that instant on, even where timers are late. A wall clock that jumped past it, as after a
//     sleep, is noticed within a second, or a tenth of the shortest TTL if less. No clock ends a
//     permanent term without a MaxHold.
//  3. After [Term.End] returned no renewal of the term is written. End waits for the end of a write
//     in progress, never for a reply.
//  4. A term that the store disowns ends at once, with a cause that is [ErrNotOwner]. That goes for
//     a permanent one too. Nothing else that the extend function returns ends one.
//  5. Each term ends once: Done is closed and Err is set, then Options.Ended is called, once.
//  6. No function of the user is called while a mutex is held. No method but End and Close waits for
//     input or output. Valid takes no lock.
//  7. A set has one goroutine and two timers, and a timer per term that can expire. A live term is
//     kept reachable by its set. One that has ended is not, save by a batch in flight that carries
//     it.
//
// # What it does not promise
//
// Guarantee 3, and that End and Close are quick, depend on the extend function. It must keep to its
// limit and call written when it should. Against one that does neither End and Close stop waiting
// after 3 s.
//
// Batches go out one after the other, and one that hangs holds up all others for its limit. A term of
// 100 ms beside one of 30 s may be lost to it that it would have survived on its own.
//
// Code that runs on after its term ended is not stopped.
//
// A confirmation that makes a lease permanent may come too late for its term, or not at all. The
// store then keeps the lease for ever. To give it back, or to let it expire, is the caller's affair:
// the set writes nothing for a term that has ended.
//
// # Compatibility
//
// The package follows the version of its module. It is meant for leases in any store: etcd, a
// database, a service of your own. What an example shows is what others may rely on: [New],
// [Set.Add], [Set.Terms] and [Set.Close]; the methods of [Term] but for two; [Config], [Options],
// [ExtendFunc], [Request], [Result], [Outcome], [Instant] and the errors.
//
// The following serves package lock of the same module alone. It may change, or go, without notice:
//
//   - [Term.Lose] and [Term.Shorten], for what lock hears from its store outside of a renewal
//   - Options.Ending, by which lock stops all jobs before any hook of a user runs
//   - [At], for an instant that lock has read as a [time.Time] already
//   - the terms that [Set.Close] returns, whose locks lock gives back
package renewal
