package pool

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/lock"
)

// A Lease is the lease of a member's lock. Unlock it when the member is not needed any more.
type Lease struct {
	*lock.Lease
	member string
}

// Member returns which member of the pool it is.
func (l *Lease) Member() string { return l.member }

// Lock takes a member, and waits while all are taken, until it gets one or ctx ends. It blocks and
// fails as lock.Mutex.Lock does. The error Is [ErrEmpty] if the pool has no members, or loses the
// last one.
func (p *Pool) Lock(ctx context.Context) (*Lease, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	p.pools.Join(p.name)
	defer p.pools.Leave(p.name)
	return p.take(ctx, &anyMember{pool: p, waits: true}, p.client.Engine.Lock)
}

// TryLock takes a member if one is free, without waiting. If only names members, TryLock takes one
// of those. A list that is empty but not nil is refused.
//
// It blocks and fails as lock.Mutex.TryLock does. Errors of its own:
//
//   - [*lock.HeldError]: all are taken. The owner is the one whose lock has the least time left.
//   - [ErrEmpty]: none of them belongs to the pool.
func (p *Pool) TryLock(ctx context.Context, only ...string) (*Lease, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	if only != nil && len(only) == 0 {
		return nil, engine.Invalid("the list of members is empty, not nil:" +
			" name those that may be taken, or pass none for any")
	}
	if err := p.check(only); err != nil {
		return nil, err
	}
	return p.take(ctx, &anyMember{pool: p, only: slices.Clone(only)}, p.client.Engine.TryLock)
}

// Do takes a member, waiting for it, runs fn while holding it, and releases it. See lock.Mutex.Do.
func (p *Pool) Do(ctx context.Context, fn func(ctx context.Context, member string) error) error {
	if err := p.wrong(); err != nil {
		return err
	}
	if fn == nil {
		return engine.Invalid("the function is nil: give one to run under the lock")
	}
	var member string
	take := func(ctx context.Context) (*lock.Lease, error) {
		lease, err := p.Lock(ctx)
		if err != nil {
			return nil, err
		}
		member = lease.member
		return lease.Lease, nil
	}
	return p.client.Do(ctx, take, func(ctx context.Context, _ *lock.Lease) error {
		return fn(ctx, member)
	})
}

// take takes a member by the engine's Lock or TryLock. Both call the target's methods on this
// goroutine, and have ended with it when they return. So what was got is the lease's.
func (p *Pool) take(ctx context.Context, a *anyMember,
	by func(context.Context, engine.Want) (*engine.Lease, error),
) (*Lease, error) {
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	held, err := by(ctx, engine.Want{Target: a, Settings: settings, Op: "acquire"})
	if err != nil {
		return nil, err
	}
	return &Lease{p.client.Lease(held), a.got}, nil
}

// settings returns what the leases of members go by.
func (p *Pool) settings() (engine.Settings, error) {
	settings, err := p.client.Settings(p.options)
	if o := p.options; o != nil && (o.ID != "" || o.KeepID) {
		err = errors.Join(err, engine.Invalid("ID and KeepID are for single locks:"+
			" leave them out for a pool"))
	}
	return settings, err
}
