package lock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A poolWait is what an attempt at any member's lock of a pool goes by. The pool P is called "{P}/" here,
// and the lock of its member m "{P}/m"; whoever waits for any of them waits under the pool's own name, for
// a signal that says which member was released.
type poolWait struct {
	key     string // of the sorted set that says who belongs to the pool
	members func(ctx context.Context, fresh bool) ([]string, error)
	asked   []string // the members of the last acquire
}

func memberLock(pool, member string) string { return pool + member }

// refs returns the locks that the last acquire may have taken under an id.
func (p *poolWait) refs(pool, id string) []lockRef {
	refs := make([]lockRef, len(p.asked))
	for i, member := range p.asked {
		refs[i] = lockRef{name: memberLock(pool, member), id: id, pool: pool, member: member}
	}
	return refs
}

// askAny is ask for any member of a pool: first for the one that is said to be free, then for all.
func (a *attempt) askAny(ctx context.Context) (*Lease, *HeldError, error) {
	p := a.pool
	if a.id != "" { // a repeat asks for the same members, which may not be all
		lease, held, err := a.askThese(ctx, p.asked)
		if answered(lease, err) {
			return lease, held, err
		}
	}
	members, err := p.members(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	hint := a.mutex.client.store.hints.take(a.mutex.name)
	if slices.Contains(members, hint) {
		lease, held, err := a.askThese(ctx, []string{hint})
		if answered(lease, err) {
			return lease, held, err
		}
	}
	lease, held, err := a.askThese(ctx, members)
	if !errors.Is(err, bridge.ErrNoMembers) {
		return lease, held, err
	}
	if members, err = p.members(ctx, true); err != nil { // what was remembered is of no use
		return nil, nil, err
	}
	return a.askThese(ctx, members)
}

// answered reports whether asking for other members is of no use: one was got, or Redis did not answer.
func answered(lease *Lease, err error) bool {
	return lease != nil || err != nil && !errors.Is(err, bridge.ErrNoMembers)
}

// askThese asks for any of these members.
func (a *attempt) askThese(ctx context.Context, members []string) (*Lease, *HeldError, error) {
	m := a.mutex
	a.pool.asked = members
	doubt := a.id != ""
	id, err := a.nextID()
	if err != nil {
		return nil, nil, err
	}
	got, held, before, err := m.client.store.acquireAny(ctx, a.pool, acquisition{
		name: m.name, id: id, ttl: m.settings.ttl, noFence: m.settings.noFence,
	}, doubt)
	switch {
	case err != nil:
		if sent(err) || errors.Is(err, errReply) {
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
	for _, ref := range a.pool.refs(a.mutex.name, id) {
		if ref.member != member {
			a.mutex.client.janitor.add(ref, time.Now().Add(operationLimit), a.until)
		}
	}
}

// anyGot is what was taken of a pool.
type anyGot struct {
	member string
	fence  int64
}

// acquireAny tries to put an id at any member's lock. Without one it returns who holds the one that has
// the least time left.
func (s *store) acquireAny(ctx context.Context, p *poolWait, a acquisition, repeat bool) (
	got anyGot, held *taken, before time.Time, err error,
) {
	set := s.acquireAnyArgs(p, a, repeat)
	reply, before, err := s.eval(ctx, limitFromNow(), &scripts.AcquireAny, set.keys, set.args...)
	if err != nil {
		return got, nil, before, err
	}
	parts, ok := reply.([]any)
	switch {
	case ok && len(parts) == 0:
		return got, nil, before, bridge.ErrNoMembers
	case ok && len(parts) == 3 && parts[0] == int64(0):
		held, err = parseTaken(parts[1:])
		return got, held, before, err
	case ok && len(parts) == 2:
		i, isInt := parts[0].(int64)
		token, _ := parts[1].([]byte)
		fence, err := strconv.ParseUint(string(token), 10, 63)
		if isInt && i >= 1 && i <= int64(len(p.asked)) && err == nil {
			return anyGot{p.asked[i-1], int64(fence)}, nil, before, nil
		}
	}
	return got, nil, before, errReply
}

func (s *store) acquireAnyArgs(p *poolWait, a acquisition, repeat bool) scriptArgs {
	fence, again := fenceTTL, ""
	if a.noFence {
		fence = "0"
	}
	if repeat {
		again = "repeat"
	}
	set := scriptArgs{[]string{p.key}, []any{a.id, millis(a.ttl), fence, again}}
	for _, member := range p.asked {
		name := memberLock(a.name, member)
		set.keys = append(set.keys, s.lock(name))
		if !a.noFence {
			set.keys = append(set.keys, s.fence(name))
		}
		set.args = append(set.args, member)
	}
	return set
}

// hints keep what the signals of pools said: which member was released. A hint is taken once, and may
// be wrong by then.
type hints struct {
	mu   sync.Mutex // guards the field below
	free map[string]string
}

// put keeps what a signal said. Those of single locks say 1.
func (h *hints) put(name, text string) {
	if text == "1" || len(text) > maxName || !strings.HasSuffix(name, "}/") {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.free == nil {
		h.free = make(map[string]string)
	}
	h.free[name] = text
}

func (h *hints) take(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.free[name]
	delete(h.free, name)
	return text
}

// anyMutex returns the mutex that stands for a pool, and an attempt at it.
func (b bridged) any(p bridge.Pool) (*Mutex, attempt) {
	o, _ := p.Options.(*MutexOptions)
	m := b.client.MutexWith(p.Name, o)
	if o != nil && (o.ID != "" || o.KeepID) {
		m.err = errors.Join(m.err, invalid("ID and KeepID are for single locks: leave them out for a pool"))
	}
	w := &poolWait{key: p.Key, members: p.Members}
	return m, attempt{mutex: m, since: time.Now(), pool: w}
}

func (b bridged) LockAny(ctx context.Context, p bridge.Pool) (any, string, error) {
	m, a := b.any(p)
	if err := m.enter(ctx); err != nil {
		return nil, "", err
	}
	defer m.client.calls.leave()
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
			var owner any
			if t != nil {
				o := parseOwner(batch[i], t.owner, t.pttl).anonymous()
				owner = &o
			}
			owners = append(owners, owner)
		}
	}
	return owners, nil
}

func (b bridged) ErrInvalid(format string, args ...any) error { return invalid(format, args...) }
