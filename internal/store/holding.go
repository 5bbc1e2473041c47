package store

import (
	"context"
	"time"
)

// A Holding is something that is held under an owner id, or may be. It knows which scripts prolong
// it, give it up, and put a signal of it back. Those of all kinds answer alike, so that holdings of
// different kinds can be seen to together.
type Holding interface {
	// Extend returns the script that prolongs it. It answers as extend.lua does.
	Extend(Extension) Run
	// Release returns the script that gives it up and wakes a waiter. Nobody may have it for keep
	// yet; 0: it is free at once. It answers as release.lua does.
	Release(keep time.Duration) Run
	// Repair returns the script that puts a signal back if it is free; ok is false if none does.
	// kept says that it should have been kept until now, see Release. It answers as repair.lua
	// does.
	Repair(kept bool) (r Run, ok bool)
	// Unfenced returns it without its fencing token: to release it whatever token it has.
	Unfenced() Holding
}

// Release runs the release of a holding, and returns what it found.
func (s *Store) Release(ctx context.Context, limit time.Time, release Run) (Released, error) {
	reply, _, err := s.Eval(ctx, limit, release)
	if err != nil {
		return NotHeld, err
	}
	return parseReleased(reply)
}

// ReleaseAll runs several releases together. For each it returns what it found, or the error.
func (s *Store) ReleaseAll(ctx context.Context, limit time.Time, releases []Run) ([]Released, []error) {
	return answers(ctx, s, limit, releases, parseReleased)
}

// Extend prolongs what is held. To add time twice is not to add it once, so AddTime is not sent
// again if its outcome is unknown. All other extensions may be executed twice.
func (s *Store) Extend(ctx context.Context, h Holding, e Extension) (Extended, error) {
	eval := s.Eval
	if e.Do == AddTime {
		eval = s.EvalOnce
	}
	reply, _, err := eval(ctx, LimitFromNow(), h.Extend(e))
	if err != nil {
		return Extended{}, err
	}
	return parseExtended(reply)
}

// ExtendAll runs several extensions together, by way of the connection for calls. They are nobody's
// renewals, and those are not to wait for them.
func (s *Store) ExtendAll(ctx context.Context, limit time.Time, extensions []Run) ([]Extended, []error) {
	return answers(ctx, s, limit, extensions, parseExtended)
}

// RepairAll puts signals back. For each it returns the error, or for how long the holding is kept
// yet that should be free by now. That is 0 if the holding is not kept.
func (s *Store) RepairAll(ctx context.Context, limit time.Time, repairs []Run) ([]time.Duration, []error) {
	return answers(ctx, s, limit, repairs, parseRepaired)
}

// repair puts a signal back that was taken and not used, if what it is for is free.
func (s *Store) repair(ctx context.Context, h Holding) error {
	r, ok := h.Repair(false)
	if !ok {
		return nil
	}
	_, _, err := s.Eval(ctx, LimitFromNow(), r)
	return err
}
