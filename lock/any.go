package lock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// A poolWait is what an attempt at any member's lock of a pool goes by. The pool P is called "{P}/" here,
// and the lock of its member m "{P}/m"; whoever waits for any of them waits under the pool's own name, for
// a signal that says which member was released.
type poolWait struct {
	bridge.Pool
	waits  bool     // it may wait, and then signals are for it
	asked  []string // the members of the last acquire
	others bool     // it found them taken, and that there are others
}

func memberLock(pool, member string) string { return pool + member }

// askAny is ask for any member of a pool: first for the one that is said to be free, then for all. All
// of it together ends within the operation limit.
func (a *attempt) askAny(ctx context.Context) (*Lease, *HeldError, error) {
	p, notes, limit := a.pool, &a.mutex.client.store.pools, limitFromNow()
	if a.id != "" { // a repeat asks for the same members, which may not be all
		lease, held, err := a.askThese(ctx, p.asked, limit)
		if answered(lease, err) {
			return lease, held, err
		}
	}
	if free := p.hint(notes); free != "" {
		lease, held, err := a.askThese(ctx, []string{free}, limit)
		if answered(lease, err) {
			return lease, held, err
		}
	}
	if p.Only != nil {
		lease, held, err := a.askThese(ctx, p.Only, limit)
		if errors.Is(err, bridge.ErrNoMembers) {
			err = bridge.ErrNoneOfThem
		}
		return lease, held, err
	}
	lease, held, err := a.askAll(ctx, false, limit)
	if errors.Is(err, bridge.ErrNoMembers) || held != nil && p.others { // what was remembered is of no use
		return a.askAll(ctx, true, limit)
	}
	return lease, held, err
}

// askAll asks for any of the pool's members; fresh has them read again.
func (a *attempt) askAll(ctx context.Context, fresh bool, limit time.Time) (*Lease, *HeldError, error) {
	p := a.pool
	members, err := p.Members(ctx, fresh, limit)
	var e *redisconn.Error
	if errors.As(err, &e) {
		err = &redisconn.Error{Err: e.Err} // nothing was acquired, however far the question came
	}
	if err != nil {
		return nil, nil, err
	}
	if p.waits {
		a.mutex.client.store.pools.know(p.Name, members)
	}
	return a.askThese(ctx, members, limit)
}

// hint returns the member that the last signal said is free; "" for none. Signals are for those who wait.
func (p *poolWait) hint(notes *pools) string {
	if !p.waits {
		return ""
	}
	return notes.take(p.Name)
}

// answered reports whether asking for other members is of no use: one was got, or Redis did not answer.
func answered(lease *Lease, err error) bool {
	return lease != nil || err != nil && !errors.Is(err, bridge.ErrNoMembers)
}

// askThese asks for any of these members.
func (a *attempt) askThese(ctx context.Context, members []string, limit time.Time) (
	*Lease, *HeldError, error,
) {
	m := a.mutex
	a.pool.asked = members
	doubt := a.id != ""
	id, err := a.nextID()
	if err != nil {
		return nil, nil, err
	}
	got, held, before, err := m.client.store.acquireAny(ctx, limit, a.pool, acquisition{
		name: m.name, id: id, ttl: m.settings.ttl, atLeast: m.settings.atLeast, noFence: m.settings.noFence,
	}, doubt)
	a.pool.others = got.others
	switch {
	case err != nil:
		if sent(err) {
			a.doubt(id)
		} else if doubt && errors.Is(err, bridge.ErrNoMembers) {
			a.again()
		}
		return nil, nil, err
	case held != nil:
		if doubt {
			a.again()
		}
		return nil, m.heldError(held), nil
	}
	if doubt {
		a.releaseOthers(id, got.member)
	}
	return a.granted(ctx, &hold{
		name: memberLock(m.name, got.member), pool: m.name, member: got.member,
		id: id, fence: got.fence, twice: doubt,
	}, before)
}

// releaseOthers has the other members released that the first acquire, which was repeated, may take under
// the same id if it is executed late.
func (a *attempt) releaseOthers(id, member string) {
	others := slices.DeleteFunc(slices.Clone(a.pool.asked), func(m string) bool { return m == member })
	if len(others) == 0 {
		return
	}
	ref := lockRef{
		name: a.mutex.name, id: id, pool: a.mutex.name, anyOf: others,
		signalTTL: a.mutex.settings.signalTTL,
	}
	a.mutex.client.janitor.release(ref, time.Now().Add(operationLimit), a.until, a.gaveUp)
}
