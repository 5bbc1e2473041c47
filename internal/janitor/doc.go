// Package janitor sees, in the background, to what nobody uses any more: to holdings that may be
// there after an acquire or a release whose outcome is not known, to those without expiry that
// nobody released, and to signals that are due at a time.
//
//	task.go      what there is to do, and when the janitor comes back for it
//	agenda.go    the list of it, and its bounds
//	janitor.go   the goroutine that does it
package janitor
