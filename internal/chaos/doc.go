// Package chaos lets clients run random programs on a few locks while random faults happen to their
// connections and to Redis, writes down what they believed, and checks that.
//
//	chaos.Run(t, chaos.Config{Seed: 7, TTL: 100 * time.Millisecond, ...}, func(h *chaos.History) bool {
//		return len(chaos.Check(h)) == 0
//	})
//
// A run is a sequence of rounds. In each there are faults for a while, then everything is healed, the
// holders release, and those who wait still have to get their locks. The history of a round is checked
// by rules that know nothing of each other, nor of the library:
//
//   - overlap: two clients believe at the same time that they hold a name;
//   - fence: a later lease has no greater fencing token, also across rounds;
//   - gap: a name is free in Redis, somebody waits for it whom no fault keeps from it, for too long;
//   - kept: somebody gets a lock before its HoldAtLeast is over;
//   - told: somebody believes in a lease for too long after an operator took its key away;
//   - seen: what a call did that it must not do, and what was left after all clients were closed.
//
// The package's tests add a sixth one, by porcupine: a mutex with fencing tokens.
//
// A belief begins when Lock has returned and Valid has said true, and ends the last time that Valid
// said true: the time is read before Valid is asked, so it is never longer than what the library
// promised, however late the scheduler is. All clients live in one process and share its monotonic
// clock.
package chaos
