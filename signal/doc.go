// Package signal turns blocking reads on many keys of a store into wake-ups for many waiters. It
// contains what cannot be had without concurrency. It knows nothing of locks: what a name means,
// and how one asks for it, is the caller's.
//
//	w, err := hub.Join(signal.Name{Name: "report"}, signal.Unknown)
//	for err == nil {
//		if err = w.Wait(ctx); err == nil { // our turn to ask
//			got, left := ask("report")
//			if got {
//				break
//			}
//			w.Taken(left)
//		}
//	}
//	w.Leave(err == nil)
//
// The waiters of one name stand in a queue. Only the first, the head, is told to ask. Up to 64
// names share one connection, which blocks in the store on all their signals. It blocks on an inbox
// of its own as well, through which the hub calls it back when the set of names has changed. Looks
// go another way, so that a read under way need not end for them.
//
// # Guarantees
//
//  1. A head is told to ask after every signal for its name, however the signal coincides with an
//     ask under way. What a head was told is forgotten only before it asks, never after.
//  2. A head is told to ask 1 ms after the expiry that it, or a look of its connection, last saw.
//  3. All names are looked at once a second, whatever becomes of their connections, and at once
//     when their connection was made anew. A head whose name a look finds free is told to ask.
//     While looks fail, the heads are told to ask as often.
//  4. A new head is told to ask once: what its forerunner heard may have been the last signal.
//  5. A signal that was read and that no ask answered for goes to the next waiter of the name. If
//     there is none, it goes back to the store.
//  6. An error that concerns one name is not told to the waiters of another.
//  7. A read ends only for a signal, for a change of its names, or after 30 s. So a store that
//     serves those who block in the order in which they began keeps the hub's place. A name that
//     has waited undisturbed for a second does not share its connection with newcomers if another
//     one may be had.
//  8. Signals that come together are taken together, however many names they are for.
//  9. A hub has at most one connection for each 64 names of a group and one more, counted over the
//     last 5 s. It sends at most 3 commands per second and connection while nothing happens.
//
// # What it does not promise
//
// Signals are hints: being told to ask does not mean that the answer will be yes. Waiters of one
// name are told in the order in which they joined. Nothing is promised about other hubs.
//
// # Compatibility
//
// The package is part of holdfast's module and follows its version. Programs other than holdfast
// may rely on the guarantees above and on
//
//   - [Hub] and [Options], and of [Waiter] what waiting takes: Wait, Taken, Leave and Trouble,
//   - [Store], [Dialer] and [Conn], which they implement: these get no further methods,
//   - [Name], [Left], [Verdict] and [ErrClosed].
//
// [Look], Options and Name may get further fields: name the fields in literals.
//
// Only holdfast uses Waiter.Tell, Waiter.Told and Look.Waiters. They may change with any version.
// So may the times and numbers that no guarantee names, and the texts of errors.
package signal
