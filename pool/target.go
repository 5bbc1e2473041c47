package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// errNoneOfThem is why none of the members that were named can be taken. It Is [ErrEmpty].
var errNoneOfThem error = noneOfThem{}

type noneOfThem struct{}

func (noneOfThem) Error() string {
	return "none of the members that were named belongs to the pool"
}

func (noneOfThem) Unwrap() error { return ErrEmpty }

// anyMember is any member of a pool, as what one call of Lock or TryLock acquires. It is for the
// goroutine of that call alone.
type anyMember struct {
	pool   *Pool
	only   []string // if not nil, the members that may be taken
	waits  bool     // the call may wait, and then signals are for it
	others bool     // the last try found all taken, and that there are others
	got    string   // the member whose lock was granted last
}

// Name is what package lock calls the pool.
func (a *anyMember) Name() string { return a.pool.name }

// Place is the pool's own: a signal there says which member was released.
func (a *anyMember) Place() signal.Name {
	return signal.Name{Kind: store.PoolKind, Name: a.pool.name}
}

// Ask asks for any member, in up to four steps. All of them together end within the operation
// limit.
//  1. If a try is in doubt, its repeat comes first, for the same members: only so it finds what the
//     first one took. These may not be all.
//  2. A signal said which member is free. That may be wrong by now, but costs one round trip where
//     all members would be read first.
//  3. All members are asked for, as they are remembered, or those that the caller named.
//  4. If that says that what is remembered is of no use, the members are read, and asked for again.
func (a *anyMember) Ask(ctx context.Context, by engine.Asker) (*engine.Lease, *store.Held, error) {
	limit := store.LimitFromNow()
	if doubt := by.InDoubt(); doubt != nil {
		lease, held, err := a.askThese(ctx, by, doubt.(*these).members, limit)
		if answered(lease, err) {
			return lease, held, err
		}
	}
	if free := a.hint(); free != "" {
		lease, held, err := a.askThese(ctx, by, []string{free}, limit)
		if answered(lease, err) {
			return lease, held, err
		}
	}
	if a.only != nil {
		lease, held, err := a.askThese(ctx, by, a.only, limit)
		if errors.Is(err, ErrEmpty) {
			err = errNoneOfThem
		}
		return lease, held, err
	}
	lease, held, err := a.askAll(ctx, by, false, limit)
	if errors.Is(err, ErrEmpty) || held != nil && a.others { // what was remembered is of no use
		return a.askAll(ctx, by, true, limit)
	}
	return lease, held, err
}

// askAll asks for any of the pool's members. fresh has them read again. Who waits has them noted,
// so that looks ask for how long these are held.
func (a *anyMember) askAll(ctx context.Context, by engine.Asker, fresh bool, limit time.Time) (
	*engine.Lease, *store.Held, error,
) {
	members, err := a.pool.candidates(ctx, fresh, limit)
	if err != nil {
		return nil, nil, store.Unsent(err) // nothing was acquired, however far the question came
	}
	if a.waits {
		a.pool.pools.Know(a.pool.name, members)
	}
	return a.askThese(ctx, by, members, limit)
}

// askThese asks for any of these members. If none of them belongs to the pool, a try in doubt is
// abandoned. Its repeat did not find what it may have taken, and the next try may be for other
// members.
func (a *anyMember) askThese(
	ctx context.Context, by engine.Asker, members []string, limit time.Time,
) (*engine.Lease, *store.Held, error) {
	lease, held, err := by.Send(ctx, limit, &these{any: a, members: members})
	if errors.Is(err, ErrEmpty) {
		by.Abandon()
	}
	return lease, held, err
}

// hint returns the member that the last signal said is free, "" for none. Signals are for those who
// wait: TryLock would take the hint away from them.
func (a *anyMember) hint() string {
	if !a.waits {
		return ""
	}
	return a.pool.pools.Freed(a.pool.name)
}

// answered reports whether to ask for other members is of no use: one was got, or Redis did not
// answer.
func answered(lease *engine.Lease, err error) bool {
	return lease != nil || err != nil && !errors.Is(err, ErrEmpty)
}

// these are members, any of which one try asks for.
type these struct {
	any     *anyMember
	members []string
}

// acquisition returns the acquire of any of some members, in the words of the store.
func (t *these) acquisition(o engine.Order, members []string) store.PoolAcquisition {
	return store.PoolAcquisition{
		Acquisition: store.Acquisition{
			Name: t.any.pool.name, ID: o.ID, TTL: o.TTL, AtLeast: o.AtLeast,
			NoFence: o.NoFence, Signal: o.Signal,
		},
		Members: members,
		Repeat:  o.Repeat,
	}
}

// Send sends one acquire.
//
// A repeat may have got another member than the first acquire gets when that is executed late. That
// one is in the rest, which is cleaned up. Without a repeat nothing can come late.
func (t *these) Send(ctx context.Context, limit time.Time, o engine.Order) (engine.Got, error) {
	got, err := t.any.pool.pools.Acquire(ctx, limit, t.acquisition(o, t.members))
	t.any.others = got.Others
	if err != nil || got.Held != nil {
		return engine.Got{Held: got.Held}, err
	}
	t.any.got = got.Member
	granted := engine.Got{
		Name:    t.any.pool.name + got.Member,
		Holding: got.Lock,
		Fence:   got.Lock.Fence,
		Sent:    got.Sent,
	}
	if !o.Repeat {
		return granted, nil
	}
	if others := without(t.members, got.Member); len(others) > 0 {
		granted.Rest = t.any.pool.pools.AnyOf(t.acquisition(o, others))
	}
	return granted, nil
}

// without returns the members but one. The list itself stays as it is: it may be remembered.
func without(members []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == one })
}

// MayHold returns whichever of these is held under the id.
func (t *these) MayHold(o engine.Order) store.Holding {
	return t.any.pool.pools.AnyOf(t.acquisition(o, t.members))
}
