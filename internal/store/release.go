package store

import "time"

// Released is what a release has found, in the script's words. Each of them is an answer: the lock
// is not the caller's any more.
type Released string

const (
	// NotHeld: nobody holds it, or somebody else under another id.
	NotHeld Released = "not held"
	// WasHeld: it was held as was said, and is free now.
	WasHeld Released = "released"
	// HandedOn: somebody else holds it under the same id, with a later fencing token.
	HandedOn Released = "handed on"
)

// parseReleased tells "not held" from a reply that says nothing of the kind. The one ends a lease.
// After the other the release is tried again.
func parseReleased(reply any) (Released, error) {
	word, _ := reply.([]byte)
	for _, found := range [...]Released{WasHeld, NotHeld, HandedOn} {
		if string(word) == string(found) {
			return found, nil
		}
	}
	return NotHeld, ErrReply
}

// parseRepaired takes in for how long a holding is kept yet that should be free by now: 0 if it is
// not.
func parseRepaired(reply any) (time.Duration, error) {
	if ttl, ok := parseTTL(reply); ok && ttl >= 0 {
		return ttl, nil
	}
	return 0, ErrReply
}
