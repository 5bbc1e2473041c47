package store

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A PoolAcquisition is what one acquire of any of these members asks for.
type PoolAcquisition struct {
	Acquisition          // Name is the pool's; Must and Chosen are not for pools
	Members     []string // those that will do, in the order in which they are tried
	Repeat      bool     // an earlier one under this id may have been executed
}

// PoolAcquired is what came of it.
type PoolAcquired struct {
	Acquired
	Member string // whose lock is ours
	Others bool   // it is not, and the pool has members that were not asked for
}

// Acquire tries to put an id at any member's lock. Without one it returns who holds the one that
// has the least time left. The error Is [ErrNoMembers] if none of them belongs to the pool.
func (p *Pools) Acquire(ctx context.Context, limit time.Time, a PoolAcquisition) (got PoolAcquired, err error) {
	reply, before, err := p.store.Eval(ctx, limit, p.acquire(a))
	got.Sent = before
	if err != nil {
		return got, err
	}
	p.store.answered.Store(true)
	found, err := parseTook(reply, len(a.Members))
	if err != nil {
		return got, err
	}
	got.Held, got.Others = found.held, found.others
	if found.place > 0 {
		got.Member = a.Members[found.place-1]
		got.Lock = p.member(a.Name, got.Member, a.ID).SignalFor(a.Signal)
		got.Lock.Fence = found.fence
	}
	return got, nil
}

// A took says which of several members an acquire took, or who holds the one that is free first.
type took struct {
	place  int64 // of the member, from 1 on; 0: none was taken
	fence  int64
	held   *Held // nil if one was taken
	others bool  // there are more than these
}

// parseTook takes in the reply to an acquire of any of so many members.
func parseTook(reply any, members int) (took, error) {
	parts, ok := reply.([]any)
	switch {
	case ok && len(parts) == 0:
		return took{}, ErrNoMembers
	case len(parts) == 4 && parts[0] == int64(0) && (parts[3] == int64(0) || parts[3] == int64(1)):
		held, err := parseHeld(parts[1:3])
		return took{held: held, others: parts[3] == int64(1)}, err
	case len(parts) == 2:
		place, isInt := parts[0].(int64)
		fence, ok := parseToken(parts[1])
		if isInt && place >= 1 && place <= int64(members) && ok {
			return took{place: place, fence: fence}, nil
		}
	}
	return took{}, ErrReply
}

func (p *Pools) acquire(a PoolAcquisition) Run {
	// Without fencing tokens there are no fence keys, and the script must know that to tell the
	// keys apart.
	fence, again := Millis(fenceTTL(a.TTL, a.AtLeast)), ""
	if a.NoFence {
		fence = 0
	}
	if a.Repeat {
		again = "repeat"
	}
	r := Run{&scripts.AcquireAny, []string{p.key(a.Name)}, []any{a.ID, Millis(a.TTL), fence, again}}
	for _, member := range a.Members {
		r.Keys = append(r.Keys, p.store.LockKey(a.Name+member))
		if !a.NoFence {
			r.Keys = append(r.Keys, p.store.fenceKey(a.Name+member))
		}
		r.Args = append(r.Args, member)
	}
	return r
}

// AnyOf returns what an acquire of these members may hold whose outcome is not known: whichever is
// held under the id. An acquire takes one member at most, but when it is repeated it may take
// another one than the first attempt, which is executed late.
func (p *Pools) AnyOf(a PoolAcquisition) Holding {
	return anyOf{pools: p, name: a.Name, members: a.Members, lock: p.store.Lock(a.Name, a.ID).SignalFor(a.Signal)}
}

// anyOf is whichever member of a pool is held under an id. It is only released: nobody holds a
// lease of it.
type anyOf struct {
	pools   *Pools
	name    string
	members []string
	lock    Lock // the pool's name as if it were a lock: with the id and the signal
}

// Unfenced returns it as it is: its fencing token is not known.
func (a anyOf) Unfenced() Holding { return a }

// Extend finds nothing to prolong: no lock has the pool's own name.
func (a anyOf) Extend(e Extension) Run { return a.lock.Extend(e) }

// Release gives up whatever is held.
func (a anyOf) Release(time.Duration) Run {
	r := Run{&scripts.ReleaseAny, []string{a.lock.signal}, []any{a.lock.ID, Millis(a.lock.Signal)}}
	for _, member := range a.members {
		r.Keys = append(r.Keys, a.pools.store.LockKey(a.name+member))
		r.Args = append(r.Args, member)
	}
	return r
}

// Repair is done by the release, which gives a signal if it gave nothing up and a member is free.
func (a anyOf) Repair(bool) (Run, bool) { return Run{}, false }
