package store

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// leastFence is for how long the last fencing token is kept, or twice as long as the lease can be.
// Tokens are made of the server's clock, and each is greater than the one that is stored. If that
// has been forgotten the clock alone must see to it, and somebody may have set it back meanwhile.
const leastFence = 7 * 24 * time.Hour

// An Acquisition is what one acquire asks for.
type Acquisition struct {
	Name, ID string
	TTL      time.Duration
	AtLeast  time.Duration // for how long nobody else is to get the lock
	NoFence  bool
	Signal   time.Duration // how long the signal of the release waits; 0: as the store says
	Must     string        // the id that the lock is taken over from; "": the lock must be free
	Chosen   bool          // the user chose ID: to find it where something else must be is no success
}

// Acquired is what came of an acquire: the lock, or who holds it.
type Acquired struct {
	Lock Lock
	Held *Held     // nil: the lock is ours
	Sent time.Time // before the acquire was sent; also with an error, as far as it came
}

// fenceTTL returns for how long the fencing token is kept: it must outlive the lease, and what
// keeps the lock after it.
func fenceTTL(ttl, atLeast time.Duration) time.Duration { return max(leastFence, 2*ttl, 2*atLeast) }

func (s *Store) acquire(a Acquisition) Run {
	r := Run{
		&scripts.Acquire,
		[]string{s.LockKey(a.Name)},
		[]any{a.ID, Millis(a.TTL), Millis(fenceTTL(a.TTL, a.AtLeast))},
	}
	if !a.NoFence {
		r.Keys = append(r.Keys, s.fenceKey(a.Name))
	}
	// Arguments that say nothing are left out at the end: most acquires have none of these.
	chosen := ""
	if a.Chosen {
		chosen = "chosen"
	}
	switch {
	case a.Must != "":
		r.Args = append(r.Args, chosen, a.Must)
	case a.Chosen:
		r.Args = append(r.Args, chosen)
	}
	return r
}

// Acquire puts an id there if the lock holds what must be there. The error Is [ErrNobody] if the
// lock was to be taken over and nobody holds it.
//
// A fresh id is this acquire's own: to find it there means that an earlier attempt put it there. A
// chosen id may be there for another reason. So an acquire with a chosen one is not sent again if
// its outcome is unknown.
func (s *Store) Acquire(ctx context.Context, limit time.Time, a Acquisition) (got Acquired, err error) {
	eval := s.Eval
	if a.Chosen {
		eval = s.EvalOnce
	}
	reply, before, err := eval(ctx, limit, s.acquire(a))
	got.Sent = before
	if err != nil {
		return got, err
	}
	s.answered.Store(true) // it is the right server: see Misled
	fence, held, err := parseAcquired(reply, a.Must)
	if err == nil && held == nil {
		got.Lock = s.Lock(a.Name, a.ID).SignalFor(a.Signal)
		got.Lock.Fence = fence
	}
	got.Held = held
	return got, err
}

// parseAcquired takes in the reply to an acquire: the fencing token, or who holds the lock. That
// nobody does is no answer if the lock was to be free.
func parseAcquired(reply any, must string) (fence int64, held *Held, err error) {
	if fence, ok := parseToken(reply); ok {
		return fence, nil, nil
	}
	held, err = parseHeld(reply)
	if err == nil && held == nil { // the script says {} only where something must be
		if err = ErrReply; must != "" {
			err = ErrNobody
		}
	}
	return 0, held, err
}

// parseToken takes in a fencing token, 0 for none. It comes as text, which is how the scripts make
// it.
func parseToken(reply any) (fence int64, ok bool) {
	text, ok := reply.([]byte)
	if !ok {
		return 0, false
	}
	token, err := strconv.ParseUint(string(text), 10, 63) // unsigned: ParseInt would take a sign, which no token has
	return int64(token), err == nil
}
