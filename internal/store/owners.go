package store

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// Owner returns who holds the lock of a name: nil for nobody.
func (s *Store) Owner(ctx context.Context, name string) (*Held, error) {
	reply, _, err := s.Eval(ctx, LimitFromNow(), s.owner(name))
	if err != nil {
		return nil, err
	}
	return parseHeld(reply)
}

func (s *Store) owner(name string) Run { return Run{&scripts.Owner, []string{s.LockKey(name)}, nil} }

// Owners returns for each name who holds the lock: nil for nobody. What is no lock is Foreign. That
// is no error here, since the names come from a scan, and a key may become something else
// meanwhile.
func (s *Store) Owners(ctx context.Context, names []string) ([]*Held, error) {
	runs := make([]Run, len(names))
	for i, name := range names {
		runs[i] = s.owner(name)
	}
	all, errs := answers(ctx, s, LimitFromNow(), runs, parseHeld)
	for i, err := range errs {
		switch {
		case err != nil && WrongType(err):
			all[i] = &Held{Foreign: true}
		case err != nil:
			return nil, err
		}
	}
	return all, nil
}
