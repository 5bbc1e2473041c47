package pool

import (
	"context"
	"slices"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// Assign makes these the members, in the order in which they are preferred. It returns how many of
// them are new, and how many others were there before. Those leave. Members that are held when they
// leave stay held until they are released.
//
// The counts may be too small if Assign was sent twice, after a network error. The same is true of
// the other calls that change a pool.
func (p *Pool) Assign(ctx context.Context, members ...string) (added, removed int, err error) {
	err = p.change(ctx, "assign to pool", members, func() (err error) {
		added, removed, err = p.pools.Assign(ctx, p.name, members)
		return err
	})
	return added, removed, err
}

// Extend adds members behind those that the pool has, and returns how many are new. Waiters see
// them within a second.
func (p *Pool) Extend(ctx context.Context, members ...string) (added int, err error) {
	err = p.change(ctx, "extend pool", members, func() (err error) {
		added, err = p.pools.Extend(ctx, p.name, members)
		return err
	})
	return added, err
}

// Shrink takes members out, and returns how many were there. Those that are held stay held until
// they are released. Then nobody gets them.
func (p *Pool) Shrink(ctx context.Context, members ...string) (removed int, err error) {
	err = p.change(ctx, "shrink pool", members, func() (err error) {
		removed, err = p.pools.Shrink(ctx, p.name, members)
		return err
	})
	return removed, err
}

// Clear takes all members out, and returns how many there were.
func (p *Pool) Clear(ctx context.Context) (removed int, err error) {
	_, removed, err = p.Assign(ctx)
	return removed, err
}

// change changes the members. It may do so twice, after a network error. The second time changes
// nothing then, and counts nothing.
//
// What is remembered is forgotten at the end, whatever came of the call. A read that began before
// the change may be remembered after that: see freshFor.
func (p *Pool) change(ctx context.Context, op string, members []string, do func() error) error {
	if err := p.wrong(); err != nil {
		return err
	}
	if err := p.check(members); err != nil {
		return err
	}
	defer p.remember(nil)
	return p.client.Engine.Call(ctx, op, p.name, do)
}

// Members returns the members in their order.
func (p *Pool) Members(ctx context.Context) ([]string, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	var members []string
	err := p.client.Engine.Call(ctx, "read pool", p.name, func() (err error) {
		members, err = p.pools.Members(ctx, p.name)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.remember(members)
	return slices.Clone(members), nil
}

// Len returns how many members there are.
func (p *Pool) Len(ctx context.Context) (int, error) {
	members, err := p.Members(ctx)
	return len(members), err
}

// Contains reports whether there is such a member.
func (p *Pool) Contains(ctx context.Context, member string) (bool, error) {
	members, err := p.Members(ctx)
	return slices.Contains(members, member), err
}

// A MemberInfo says how a member of a pool stands.
type MemberInfo struct {
	Member string
	Held   bool       // somebody holds it
	Owner  lock.Owner // if Held, who holds it, without the ID, and for how long
	NoLock bool       // its key in Redis is no lock: nobody gets it until that key is deleted
}

// Status returns how each member stands, in their order. It blocks for a round trip for the
// members, and for one for each 512 of them. What it returns is not of one moment.
func (p *Pool) Status(ctx context.Context) ([]MemberInfo, error) {
	members, err := p.Members(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]MemberInfo, 0, len(members))
	for some := range slices.Chunk(members, store.BatchSize) {
		if all, err = p.status(ctx, some, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// status appends how these members stand. It is one call of the client, so that Close need not wait
// for all.
func (p *Pool) status(ctx context.Context, members []string, all []MemberInfo) (
	[]MemberInfo, error,
) {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = p.name + m
	}
	var held []*store.Held
	err := p.client.Engine.Call(ctx, "ask for the owners in pool", p.name, func() (err error) {
		held, err = p.client.Engine.Store().Owners(ctx, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, m := range members {
		info := MemberInfo{Member: m}
		switch h := held[i]; {
		case h == nil:
		case h.Foreign:
			info.NoLock = true
		default:
			info.Held, info.Owner = true, p.client.Owner(names[i], h)
		}
		all = append(all, info)
	}
	return all, nil
}

// Health returns how many members are held and how many are free. Those with NoLock are neither. It
// blocks as [Pool.Status] does.
func (p *Pool) Health(ctx context.Context) (held, free int, err error) {
	all, err := p.Status(ctx)
	for _, m := range all {
		switch {
		case m.Held:
			held++
		case !m.NoLock:
			free++
		}
	}
	return held, free, err
}
