package store

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A Compared says what came of comparing the number that a register holds.
type Compared struct {
	Done   bool   // the comparison was true, or nothing was stored
	Stored string // what was there before; "" for nothing
	// NoNumber: what is stored is none. Stored has at most the first 100 bytes of it.
	NoNumber bool
}

// NumberKey returns the key of a register.
func (k Keyspace) NumberKey(name string) string { return k.Prefix + KindNumber + name }

// Compare compares the number that a register holds, and sets or deletes it. args are those of
// register.lua. It is not sent again if its outcome is unknown, unless again is set.
func (s *Store) Compare(ctx context.Context, name string, again bool, args []any) (c Compared, err error) {
	eval := s.EvalOnce
	if again {
		eval = s.Eval
	}
	reply, _, err := eval(ctx, LimitFromNow(), Run{&scripts.Register, []string{s.NumberKey(name)}, args})
	if err != nil {
		return c, err
	}
	return parseCompared(reply)
}

// parseCompared takes in the script's word, and what was stored before: nil for nothing. An empty
// text is no number, so that the two can be told apart by "".
func parseCompared(reply any) (c Compared, err error) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return c, ErrReply
	}
	word, _ := parts[0].([]byte)
	text, ok := parts[1].([]byte)
	switch string(word) {
	case "done":
		c.Done, ok = true, ok || parts[1] == nil
	case "not done":
		ok = ok || parts[1] == nil
	case "foreign":
		c.NoNumber = true
	default:
		ok = false
	}
	if !ok {
		return Compared{}, ErrReply
	}
	c.Stored = string(text)
	return c, nil
}
