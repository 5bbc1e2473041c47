package store

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A Lock is the lock of one name, held under an id. It is a [Holding]. Make one with [Store.Lock].
type Lock struct {
	ID     string
	Fence  int64         // the lease's fencing token; 0 if it has none, or it is not known
	Member string        // what the signal of a release says; "" for nothing in particular
	Signal time.Duration // how long that waits for a waiter

	lock, signal, fence string // keys
}

// Lock returns the lock of a name as held under an id.
func (s *Store) Lock(name, id string) Lock {
	return Lock{
		ID: id, Signal: s.signalTTL,
		lock: s.LockKey(name), signal: s.signalKey(name), fence: s.fenceKey(name),
	}
}

// SignalFor returns the lock with a signal of this life; 0 is as it is.
func (l Lock) SignalFor(ttl time.Duration) Lock {
	l.Signal = cmp.Or(ttl, l.Signal)
	return l
}

// Unfenced returns the lock without its fencing token.
func (l Lock) Unfenced() Holding {
	l.Fence = 0
	return l
}

// Extend prolongs the lock.
func (l Lock) Extend(e Extension) Run {
	r := Run{&scripts.Extend, []string{l.lock, l.signal}, e.arguments(l.ID, l.Fence)}
	if l.Fence != 0 {
		r.Keys = append(r.Keys, l.fence)
	}
	return r
}

// Release gives the lock up. Arguments that say nothing are left out at the end. Most releases have
// no minimum, and a release by an id knows no fencing token.
func (l Lock) Release(keep time.Duration) Run {
	r := Run{&scripts.Release, []string{l.lock, l.signal}, []any{l.ID, Millis(l.Signal)}}
	if l.Fence == 0 && keep == 0 && l.Member == "" {
		return r
	}
	if l.Fence != 0 {
		r.Keys = append(r.Keys, l.fence)
	}
	r.Args = append(r.Args, Millis(keep), l.Fence)
	if l.Member != "" {
		r.Args = append(r.Args, l.Member)
	}
	return r
}

// Repair puts a signal back if the lock is free. With kept the script also tells for how long the
// lock is kept yet. It knows that by the value that a release with keep has put there.
func (l Lock) Repair(kept bool) (Run, bool) {
	r := Run{&scripts.Repair, []string{l.lock, l.signal}, []any{Millis(l.Signal)}}
	switch {
	case kept:
		r.Args = append(r.Args, l.Member, l.ID+owner.KeptSuffix)
	case l.Member != "":
		r.Args = append(r.Args, l.Member)
	}
	return r, true
}
