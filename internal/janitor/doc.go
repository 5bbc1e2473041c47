// Package janitor sees, in the background, to what nobody uses any more:
//
//   - Holdings that may be there after an acquire or a release whose outcome is not known are
//     released.
//
//   - Holdings without expiry that nobody released are left to expire.
//
//   - Signals that are due at a time are given.
//
//     task.go      what there is to do, and when the janitor comes back for it
//     agenda.go    the list of it, and its bounds
//     janitor.go   the goroutine that does it
package janitor
