package lock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
)

// any returns the mutex that stands for a pool, and an attempt at it.
func (b bridged) any(p bridge.Pool) (*Mutex, attempt) {
	o, _ := p.Options.(*MutexOptions)
	m := b.client.mutex(p.Name, o)
	if o != nil && (o.ID != "" || o.KeepID) {
		m.err = errors.Join(m.err, invalid("ID and KeepID are for single locks: leave them out for a pool"))
	}
	return m, attempt{mutex: m, since: time.Now(), pool: &poolWait{Pool: p}}
}

func (b bridged) LockAny(ctx context.Context, p bridge.Pool) (any, string, error) {
	m, a := b.any(p)
	if err := m.enter(ctx); err != nil {
		return nil, "", err
	}
	defer m.client.calls.leave()
	notes := &m.client.store.pools
	notes.join(p.Name, p.Key)
	defer notes.leave(p.Name)
	a.pool.waits = true
	return member(m.lock(ctx, a))
}

func (b bridged) TryLockAny(ctx context.Context, p bridge.Pool) (any, string, error) {
	m, a := b.any(p)
	if err := m.enter(ctx); err != nil {
		return nil, "", err
	}
	defer m.client.calls.leave()
	return member(a.twice(ctx))
}

func member(lease *Lease, err error) (any, string, error) {
	if err != nil {
		return nil, "", err
	}
	return lease, lease.hold.member, nil
}

func (b bridged) DoAny(ctx context.Context, p bridge.Pool, fn func(context.Context, string) error) error {
	take := func(ctx context.Context) (*Lease, error) {
		lease, _, err := b.LockAny(ctx, p)
		if err != nil {
			return nil, err
		}
		return lease.(*Lease), nil
	}
	return b.client.hold(ctx, take, func(ctx context.Context, l *Lease) error {
		return fn(ctx, l.hold.member)
	})
}

func (b bridged) Owners(ctx context.Context, op, name string, names []string) ([]any, error) {
	owners := make([]any, 0, len(names))
	for batch := range slices.Chunk(names, batchSize) {
		var held []*taken
		_, err := b.eval(ctx, op, name, func() (any, error) {
			return nil, b.client.twice(ctx, func() (err error) {
				held, err = b.client.store.owners(ctx, batch)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		for i, t := range held {
			switch {
			case t == nil:
				owners = append(owners, nil)
			case t.foreign:
				owners = append(owners, ErrWrongType)
			default:
				o := parseOwner(batch[i], t.owner, t.pttl).anonymous()
				owners = append(owners, &o)
			}
		}
	}
	return owners, nil
}

func (b bridged) ErrInvalid(format string, args ...any) error { return invalid(format, args...) }
