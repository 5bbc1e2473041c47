// Package chaos lets clients run random programs on a few locks while random faults happen to their
// connections and to Redis, writes down what they believed, and checks that.
//
//	chaos.Run(t, chaos.Config{Seed: 7, TTL: 100 * time.Millisecond, ...}, func(h *chaos.History) bool {
//		return len(chaos.Check(h)) == 0
//	})
//
// A run is a sequence of rounds. In most there are faults for a while, then everything is healed, the
// holders release, and those who wait still have to get their locks. Some locks are held by processes of
// their own, which are killed and stopped. One lock is handed over while signals get lost, so that those
// who wait without a fault find it by a look. A stranger takes the common locks as another library does.
// Every third round is calm: there are no faults, the common locks are handed over as fast as they can be,
// and waiters leave when they would get the signal. The history of a round is checked by rules that know
// nothing of each other, nor of the library:
//
//   - overlap: two clients believe at the same time that they hold a name;
//   - fence: a later lease has no greater fencing token, also across rounds;
//   - gap: a name is free in Redis, or a member of a pool, and somebody waits for it for longer than a
//     second and an operation limit. Of clients that are not harmed all that time counts but what Redis was
//     stopped for; of others it starts anew after each of their faults and of Redis's;
//   - signal: in a calm round too many handovers take as long as a waiter's look does;
//   - kept: somebody gets a lock before its HoldAtLeast is over;
//   - told: somebody believes in a lease for too long after an operator took its key away;
//   - shrunk: somebody gets a member of the pool after it left;
//   - seen: what a call did that it must not do, and what was left: by leases that were dropped, by
//     processes that were killed, of locks without expiry, and after all clients were closed.
//
// The package's tests add one more, by porcupine: a mutex with fencing tokens.
//
// A belief begins when Lock has returned and Valid has said true, and ends the last time that Valid
// said true: the time is read before Valid is asked, so it is never longer than what the library
// promised, however late the scheduler is. All clients live on one machine and share its monotonic
// clock; processes write each line of their log by it as soon as it is so.
package chaos
