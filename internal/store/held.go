package store

import "time"

// Held says who holds a lock, and for how long.
type Held struct {
	Owner   string        // of the id at most the first 1025 bytes
	TTL     time.Duration // left, at most 100 years, or NoExpiry
	Foreign bool          // the key is no lock, so nobody holds it and nobody gets it
}

// parseHeld takes in who holds a lock: nil for nobody.
func parseHeld(reply any) (*Held, error) {
	parts, ok := reply.([]any)
	if ok && len(parts) == 0 {
		return nil, nil
	}
	if len(parts) == 2 {
		owner, ok := parts[0].([]byte)
		if ttl, ok2 := parseTTL(parts[1]); ok && ok2 {
			return &Held{Owner: string(owner), TTL: ttl}, nil
		}
	}
	return nil, ErrReply
}
