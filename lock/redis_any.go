package lock

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

// anyGot is what was taken of a pool.
type anyGot struct {
	member string
	fence  int64
	others bool // nothing was, and the pool has members that were not asked for
}

// acquireAny tries to put an id at any member's lock. Without one it returns who holds the one that has
// the least time left.
func (s *store) acquireAny(ctx context.Context, limit time.Time, p *poolWait, a acquisition, repeat bool) (
	got anyGot, held *taken, before time.Time, err error,
) {
	set := s.acquireAnyArgs(p, a, repeat)
	reply, before, err := s.eval(ctx, limit, &scripts.AcquireAny, set.keys, set.args...)
	if err != nil {
		return got, nil, before, err
	}
	s.answered.Store(true)
	parts, ok := reply.([]any)
	switch {
	case ok && len(parts) == 0:
		return got, nil, before, bridge.ErrNoMembers
	case ok && len(parts) == 4 && parts[0] == int64(0):
		got.others = parts[3] == int64(1)
		held, err = parseTaken(parts[1:3])
		return got, held, before, err
	case ok && len(parts) == 2:
		i, isInt := parts[0].(int64)
		token, _ := parts[1].([]byte)
		fence, err := strconv.ParseUint(string(token), 10, 63)
		if isInt && i >= 1 && i <= int64(len(p.asked)) && err == nil {
			return anyGot{member: p.asked[i-1], fence: int64(fence)}, nil, before, nil
		}
	}
	return got, nil, before, errReply
}

func (s *store) acquireAnyArgs(p *poolWait, a acquisition, repeat bool) scriptArgs {
	fence, again := a.fenceTTL(), ""
	if a.noFence {
		fence = 0
	}
	if repeat {
		again = "repeat"
	}
	set := scriptArgs{[]string{p.Key}, []any{a.id, millis(a.ttl), fence, again}}
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

// releaseAny gives up what of a pool is held as ref says, and reports whether anything was.
func (s *store) releaseAny(ctx context.Context, limit time.Time, ref lockRef) (bool, error) {
	keys, args := []string{s.signal(ref.pool)}, []any{ref.id, s.signalMillis(ref)}
	for _, member := range ref.anyOf {
		keys = append(keys, s.lock(memberLock(ref.pool, member)))
		args = append(args, member)
	}
	reply, _, err := s.eval(ctx, limit, &scripts.ReleaseAny, keys, args...)
	if err != nil {
		return false, err
	}
	found, err := parseReleased(reply)
	return found == wasHeld, err
}

// maxLook bounds the members that one look asks for. Pools beyond it are said to have a free one, which
// has their heads ask for themselves.
const maxLook = 10_000

// lookAny corrects what a look said of those of the names that are pools: for how long all members are
// held.
func (s waitStore) lookAny(ctx context.Context, names []signal.Name, left []signal.Left) error {
	var keys []string
	var args []any
	var at []int // of the pools, in left
	for i, name := range names {
		pool := s.pools.of(name.Name)
		if len(pool.members) == 0 || len(keys)+len(pool.members) > maxLook {
			continue
		}
		at, keys, args = append(at, i), append(keys, pool.key), append(args, len(pool.members))
		for _, member := range pool.members {
			keys, args = append(keys, s.lock(memberLock(name.Name, member))), append(args, member)
		}
	}
	if len(at) == 0 {
		return nil
	}
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.LookAny, keys, args...)
	if err != nil {
		return err
	}
	values, ok := reply.([]any)
	if !ok || len(values) != len(at) {
		return errReply
	}
	for n, i := range at {
		if left[i], err = parseLeft(values[n]); err != nil {
			return err
		}
	}
	return nil
}
