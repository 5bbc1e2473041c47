package store

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

// registerTTL is how many milliseconds the hash of waiters outlives its last look. Looks that write
// it come once a second, so that it survives some that fail, and goes soon after a process that
// died.
const registerTTL = "5000"

// Wait returns the store as signal.Hub sees it.
func (s *Store) Wait() signal.Store { return waiting{s} }

// waiting is the store as signal.Hub sees it.
type waiting struct{ *Store }

// Dialer returns what dials the wait connection of this number.
func (s waiting) Dialer(number int) signal.Dialer {
	return &dialer{store: s.Store, port: s.source.NewPort(), inbox: s.inboxKey(s.client, number)}
}

// Wake pushes to the connection's inbox. It does not wait for the reply, and nobody learns of an
// error. A read that is not called back ends by itself, and the hub looks meanwhile.
func (s waiting) Wake(number int) {
	call := s.wake(number, false)
	call.Answered = func() {
		if noScript(call.Replies[0]) {
			s.calls.Go(s.wake(number, true))
		}
	}
	s.calls.Go(call)
}

func (s waiting) wake(number int, text bool) *redisconn.Call {
	return redisconn.NewCall(LimitFromNow(), wake(s.inboxKey(s.client, number)).command(text))
}

// GiveBack puts a signal back.
func (s waiting) GiveBack(n signal.Name) error {
	if k := s.kinds.get(n.Kind); k != nil {
		return k.GiveBack(context.Background(), n.Name)
	}
	return s.repair(context.Background(), s.Lock(n.Name, ""))
}

// Group returns the same for all names: one Redis serves them.
func (s waiting) Group(signal.Name) string { return "" }

// Judge says what an error means for waiting. That BLPOP is refused is one thing: waiters then look
// more often. That looking is refused is another, since nobody can wait without it.
func (s waiting) Judge(err error) signal.Verdict {
	switch {
	case errors.Is(err, errNoBlock):
		return signal.NoBlock
	case Refused(err) && Permanent(err):
		return signal.Permanent
	}
	return signal.Passes
}

// Look asks how long the names are still held, and writes the register of who waits there. Locks
// are asked for in one round trip, and each other kind in one of its own. An error of any of them
// is that of the look: the hub looks again before long.
func (s waiting) Look(ctx context.Context, number int, l signal.Look) ([]signal.Left, error) {
	left := make([]signal.Left, len(l.Names))
	var locks []string // keys
	var at []int       // of these, in left
	others := make(map[string][]int)
	for i, n := range l.Names {
		if s.kinds.get(n.Kind) != nil {
			others[n.Kind] = append(others[n.Kind], i)
			continue
		}
		locks, at = append(locks, s.LockKey(n.Name)), append(at, i)
	}
	seen, err := s.lookAt(ctx, append(locks, s.registerKey(s.label, s.client, number)), l)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		left[i] = seen[n]
	}
	for kind, at := range others {
		if err := s.lookAtKind(ctx, kind, l.Names, at, left); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// lookAt looks at locks. The last key is that of the register. There may be no locks, if all who
// wait do so for other kinds of things: the register is written all the same.
func (s waiting) lookAt(ctx context.Context, keys []string, l signal.Look) ([]signal.Left, error) {
	reply, _, err := s.Eval(ctx, LimitFromNow(), Run{&scripts.Look, keys, registerArgs(l)})
	if err != nil {
		return nil, err
	}
	return parseAllLeft(reply, len(keys)-1, parseLeft)
}

// lookAtKind looks at those of the names, by their places, that are of a kind. What it finds is put
// into left, at the same places.
func (s waiting) lookAtKind(ctx context.Context, kind string, names []signal.Name, at []int, left []signal.Left) error {
	some := make([]string, len(at))
	for n, i := range at {
		some[n] = names[i].Name
	}
	seen, err := s.kinds.get(kind).Look(ctx, some)
	if err != nil {
		return err
	}
	if len(seen) != len(at) {
		return ErrReply
	}
	for n, i := range at {
		left[i] = seen[n]
	}
	return nil
}

// registerArgs returns the look script's arguments. Without counts the register is left alone, and
// expires when the last look that wrote it is long enough ago.
func registerArgs(l signal.Look) []any {
	if l.Waiters == nil {
		return []any{"0"}
	}
	args := []any{registerTTL}
	for i, n := range l.Names {
		args = append(args, n.Name, l.Waiters[i])
	}
	return args
}
