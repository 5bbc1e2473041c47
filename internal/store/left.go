package store

import "github.com/holdfast-go/holdfast/signal"

// parseLeft takes in what a look says of one lock, or of the first of several: what Redis says of a key's TTL (-2:
// there is no key, -1: no expiry), or a word.
func parseLeft(reply any) (signal.Left, error) {
	if word, ok := reply.([]byte); ok {
		switch string(word) {
		case "foreign":
			return signal.Foreign, nil
		case "others":
			return signal.Free, nil // there are more than were looked at, and one may be free
		}
		return signal.Unknown, ErrReply
	}
	switch n, ok := reply.(int64); {
	case !ok || n < -2:
		return signal.Unknown, ErrReply
	case n == -2:
		return signal.Free, nil
	case n == -1:
		return signal.Forever, nil
	}
	ttl, _ := parseTTL(reply)
	return signal.For(ttl), nil
}
