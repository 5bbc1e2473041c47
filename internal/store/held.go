package store

import "time"

// Held says who holds a lock, and for how long.
type Held struct {
	Owner   string        // of the id at most the first 1025 bytes
	TTL     time.Duration // left, at most 100 years, or NoExpiry
	Foreign bool          // the key is no lock, so nobody holds it and nobody gets it
}

// parseHeld takes in who holds a lock: nil for nobody. What is there need not be an id of
// holdfast's, and may be empty: somebody holds the lock all the same.
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

// parseFound takes in a script's word for how it found a lock, and who held that: free if nobody
// did. Redis says of a key that is not there that it has -2 ms left, and so the two must agree.
func parseFound(reply any) (word []byte, h Held, err error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return nil, h, ErrReply
	}
	word, _ = parts[0].([]byte)
	owner, ok := parts[1].([]byte)
	ms, ok2 := parts[2].(int64)
	free := string(word) == "free"
	if !ok || !ok2 || ms < -2 || free != (ms == -2) || free && len(owner) > 0 {
		return nil, h, ErrReply
	}
	h.Owner = string(owner)
	h.TTL, _ = parseTTL(parts[2])
	return word, h, nil
}
