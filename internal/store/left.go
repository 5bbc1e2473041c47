package store

import "github.com/holdfast-go/holdfast/signal"

// parseAllLeft takes in what a look says of so many things, each of which parse takes in.
func parseAllLeft(reply any, things int, parse func(any) (signal.Left, error)) ([]signal.Left, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != things {
		return nil, ErrReply
	}
	left := make([]signal.Left, things)
	for i, part := range parts {
		var err error
		if left[i], err = parse(part); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// parseLeft takes in what a look says of one lock. It says what Redis says of a key's TTL, where -2
// means that there is no key, and -1 that it has no expiry. Or it says that the key is something
// else than a lock.
func parseLeft(reply any) (signal.Left, error) {
	if word, _ := reply.([]byte); string(word) == "foreign" {
		return signal.Foreign, nil
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

// parseLeftOfAny takes in what a look says of the first to be free of several locks, or that there
// are more than were looked at. One of these may be free.
func parseLeftOfAny(reply any) (signal.Left, error) {
	switch word, ok := reply.([]byte); {
	case string(word) == "others":
		return signal.Free, nil
	case ok:
		return signal.Unknown, ErrReply
	}
	return parseLeft(reply)
}
