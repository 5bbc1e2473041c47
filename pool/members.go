package pool

import (
	"context"
	"slices"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

// Assign makes these the members, in the order in which they are preferred, and returns how many of them
// are new and how many were there that are not among them. Members that are held when they leave stay
// held until they are released.
func (p *Pool) Assign(ctx context.Context, members ...string) (added, removed int, err error) {
	reply, err := p.change(ctx, "assign to pool", &scripts.PoolAssign, members, "")
	if err != nil {
		return 0, 0, err
	}
	counts, err := redis.Ints(reply, nil)
	if err != nil || len(counts) != 2 {
		return 0, 0, redisconn.ErrReply
	}
	return counts[0], counts[1], nil
}

// Extend adds members behind those that the pool has, and returns how many are new. Waiters see them
// within a second.
func (p *Pool) Extend(ctx context.Context, members ...string) (added int, err error) {
	return p.count(p.change(ctx, "extend pool", &scripts.PoolChange, members, "extend"))
}

// Shrink takes members out, and returns how many were there. Those that are held stay held until they are
// released, and then nobody gets them.
func (p *Pool) Shrink(ctx context.Context, members ...string) (removed int, err error) {
	return p.count(p.change(ctx, "shrink pool", &scripts.PoolChange, members, "shrink"))
}

// Clear takes all members out, and returns how many there were.
func (p *Pool) Clear(ctx context.Context) (removed int, err error) {
	_, removed, err = p.Assign(ctx)
	return removed, err
}

// change runs a script that changes the members. It may run twice: the second time changes nothing, but
// counts only what it changed.
func (p *Pool) change(ctx context.Context, op string, sc *scripts.Script, members []string, how string) (
	any, error,
) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	if err := p.check(members); err != nil {
		return nil, err
	}
	var args []any
	if how != "" {
		args = append(args, how)
	}
	for _, m := range members {
		args = append(args, m)
	}
	defer p.remember(nil)
	return p.client.Again(ctx, op, p.name, sc, []string{p.key}, args...)
}

func (p *Pool) count(reply any, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, redisconn.ErrReply
	}
	return int(n), nil
}

// Members returns the members in their order.
func (p *Pool) Members(ctx context.Context) ([]string, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	members, err := p.read(p.client.Again(ctx, "read pool", p.name, &scripts.PoolMembers, []string{p.key}))
	return slices.Clone(members), err
}

// read remembers the members that a script has returned.
func (p *Pool) read(reply any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	members, err := redis.Strings(reply, nil)
	if err != nil {
		return nil, redisconn.ErrReply
	}
	p.remember(members)
	return members, nil
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
	Owner  lock.Owner // who, without the ID, and for how long; only if Held
	NoLock bool       // its key in Redis is something else than a lock: nobody gets it until that is deleted
}

// Status returns how each member stands, in their order. It blocks for a round trip for the members and
// one for each 512 of them; those are not of one moment.
func (p *Pool) Status(ctx context.Context) ([]MemberInfo, error) {
	members, err := p.Members(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = p.name + m
	}
	owners, err := p.client.Owners(ctx, "ask for the owners in pool", p.name, names)
	if err != nil {
		return nil, err
	}
	all := make([]MemberInfo, len(members))
	for i, m := range members {
		all[i].Member = m
		switch o := owners[i].(type) {
		case *lock.Owner:
			all[i].Held, all[i].Owner = true, *o
		case error:
			all[i].NoLock = true
		}
	}
	return all, nil
}

// Health returns how many members are held and how many are free; those with NoLock are neither. It blocks
// as [Pool.Status] does.
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
