package store

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// Reset gives the lock of a name up if it is held as it was seen, nil for not at all. It returns
// who held it: nil for nobody. The error Is [ErrChanged] if somebody else does.
//
// It takes the lock from nobody but whom the caller has seen. So it may be executed late, when
// others hold it.
func (s *Store) Reset(ctx context.Context, name string, seen *Held) (*Held, error) {
	r := Run{&scripts.Reset, []string{s.LockKey(name), s.signalKey(name)}, []any{Millis(s.signalTTL)}}
	if seen != nil {
		r.Args = append(r.Args, seen.Owner)
	}
	reply, _, err := s.Eval(ctx, LimitFromNow(), r)
	if err != nil {
		return nil, err
	}
	return parseReset(reply)
}

// parseReset takes in the reply to a reset: who held the lock, nil for nobody.
func parseReset(reply any) (*Held, error) {
	word, was, err := parseFound(reply)
	if err != nil {
		return nil, err
	}
	switch string(word) {
	case "reset":
		return &was, nil
	case "other":
		return nil, ErrChanged
	case "free":
		return nil, nil
	}
	return nil, ErrReply
}
