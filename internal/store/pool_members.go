package store

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// Assign makes these the members of a pool, in this order. It returns how many of them are new, and
// how many were there that are not among them. Executed twice it changes nothing the second time,
// and counts nothing.
func (p *Pools) Assign(ctx context.Context, name string, members []string) (added, removed int, err error) {
	r := Run{&scripts.PoolAssign, []string{p.key(name)}, texts(members)}
	reply, _, err := p.store.Eval(ctx, LimitFromNow(), r)
	if err != nil {
		return 0, 0, err
	}
	return parseAssigned(reply)
}

// parseAssigned takes in how many members are new, and how many were taken out.
func parseAssigned(reply any) (added, removed int, err error) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return 0, 0, ErrReply
	}
	a, ok := parts[0].(int64)
	r, ok2 := parts[1].(int64)
	if !ok || !ok2 {
		return 0, 0, ErrReply
	}
	return int(a), int(r), nil
}

// Extend adds members to a pool, behind the others, and returns how many are new.
func (p *Pools) Extend(ctx context.Context, name string, members []string) (added int, err error) {
	return p.change(ctx, name, "extend", members)
}

// Shrink takes members out of a pool, and returns how many were there.
func (p *Pools) Shrink(ctx context.Context, name string, members []string) (removed int, err error) {
	return p.change(ctx, name, "shrink", members)
}

func (p *Pools) change(ctx context.Context, name, how string, members []string) (int, error) {
	r := Run{&scripts.PoolChange, []string{p.key(name)}, append([]any{how}, texts(members)...)}
	reply, _, err := p.store.Eval(ctx, LimitFromNow(), r)
	if err != nil {
		return 0, err
	}
	return parseChanged(reply)
}

// parseChanged takes in how many members were added, or taken out.
func parseChanged(reply any) (int, error) {
	n, ok := reply.(int64)
	if !ok || n < 0 {
		return 0, ErrReply
	}
	return int(n), nil
}

// Members returns the members of a pool in their order.
func (p *Pools) Members(ctx context.Context, name string) ([]string, error) {
	return p.membersIn(ctx, how{limit: LimitFromNow()}, name)
}

// Candidates is [Pools.Members] for an acquire that is to follow, and must end by the limit as
// well.
//
// Nothing is lost if the question is asked twice, and still it is sent once only. The connection is
// tried before then, if it was idle. Without that a dead one would cost the acquire its only
// repeat.
func (p *Pools) Candidates(ctx context.Context, limit time.Time, name string) ([]string, error) {
	return p.membersIn(ctx, how{limit: limit, once: true}, name)
}

func (p *Pools) membersIn(ctx context.Context, h how, name string) ([]string, error) {
	reply, _, err := p.store.eval(ctx, h, Run{&scripts.PoolMembers, []string{p.key(name)}, nil})
	if err != nil {
		return nil, err
	}
	return parseTexts(reply)
}
