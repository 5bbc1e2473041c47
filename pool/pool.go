package pool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrEmpty is the error of taking a member of a pool that has none.
var ErrEmpty = bridge.ErrNoMembers

// Options configure a [Pool]. Nil is ready for use, and so is a field's zero value.
type Options struct {
	// Spread has members tried from anywhere on, so that all are used about equally often, rather than
	// in the order of the pool, so that the first ones are preferred.
	Spread bool

	// Lock are the options of the members' locks: TTL, MaxHold and so on. ID and KeepID are for single
	// locks and refused. Default: the client's.
	Lock *lock.MutexOptions
}

// A Pool is a name with members, as a client sees it. It holds nothing. Share it freely: its methods may
// be called from any goroutine. Two values for the same name are the same pool, in any process.
//
// Most callers want [Pool.Do]. Bad names and options show at the first call, as lock.ErrInvalid, before
// anything is sent. Each call blocks for one round trip unless it says otherwise, after a network error
// for a second one, at most for two operation limits of 2 s and no longer than until its context ends.
// Errors are those of package lock.
type Pool struct {
	client bridge.Client
	name   string // as package lock calls it
	key    string
	spread bool
	lock   *lock.MutexOptions
	err    error // what is wrong with the name

	mu      sync.Mutex // guards the fields below
	members []string   // as they were at the time of fresh
	fresh   time.Time
}

// New returns the pool of this name. It does no I/O.
func New(c *lock.Client, name string, o *Options) *Pool {
	p := &Pool{client: bridge.Of(c), name: "{" + name + "}/"}
	p.key = p.client.LockKey("lock-pool:", "{"+name+"}")
	if o != nil {
		p.spread, p.lock = o.Spread, o.Lock
	}
	p.err = p.client.CheckName(p.name)
	if p.err == nil && (name == "" || containsBrace(name)) {
		p.err = p.client.ErrInvalid("the pool's name %.40q is empty or has braces, which choose the slot in"+
			" Redis Cluster: give it a name without", name)
	}
	return p
}

// wrong returns what is wrong with the pool itself.
func (p *Pool) wrong() error {
	if p == nil || p.client == nil {
		return fmt.Errorf("pool: %w: the pool is nil, or empty: use one that New returned", lock.ErrInvalid)
	}
	return p.err
}

func containsBrace(name string) bool {
	return slices.ContainsFunc([]byte(name), func(b byte) bool { return b == '{' || b == '}' })
}

// A Lease is the lease of a member's lock. Unlock it when the member is not needed any more.
type Lease struct {
	*lock.Lease
	member string
}

// Member returns which member of the pool it is.
func (l *Lease) Member() string { return l.member }

// Lock takes a member, and waits while all are taken: until it gets one or ctx ends. It blocks and fails
// as lock.Mutex.Lock does, and returns [ErrEmpty] if the pool has no members, or loses the last.
func (p *Pool) Lock(ctx context.Context) (*Lease, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	return leaseOf(p.client.LockAny(ctx, p.any(nil)))
}

// TryLock takes a member if one is free, without waiting; if only names members, one of those; a list
// that is empty but not nil is refused. It blocks and fails as lock.Mutex.TryLock does. If all are taken
// the error is a [*lock.HeldError] with the owner whose lock has the least time left; if none belongs to
// the pool it is [ErrEmpty].
func (p *Pool) TryLock(ctx context.Context, only ...string) (*Lease, error) {
	if err := p.wrong(); err != nil {
		return nil, err
	}
	if only != nil && len(only) == 0 {
		return nil, p.client.ErrInvalid("the list of members is empty, not nil:" +
			" name those that may be taken, or pass none for any")
	}
	if err := p.check(only); err != nil {
		return nil, err
	}
	return leaseOf(p.client.TryLockAny(ctx, p.any(only)))
}

// Do takes a member, waiting for it, runs fn while holding it, and releases it; see lock.Mutex.Do.
func (p *Pool) Do(ctx context.Context, fn func(ctx context.Context, member string) error) error {
	if err := p.wrong(); err != nil {
		return err
	}
	if fn == nil {
		return p.client.ErrInvalid("the function is nil: give one to run under the lock")
	}
	return p.client.DoAny(ctx, p.any(nil), fn)
}

func leaseOf(lease any, member string, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{lease.(*lock.Lease), member}, nil
}

// any says what is to be taken.
func (p *Pool) any(only []string) bridge.Pool {
	b := bridge.Pool{Name: p.name, Key: p.key, Only: slices.Clone(only), Members: p.candidates}
	if p.lock != nil {
		b.Options = p.lock
	}
	return b
}

// freshFor is how long the members are remembered. One that has left is not taken in that time either:
// the script that takes one looks.
const freshFor = time.Second

// candidates returns the members in the order in which they are to be tried.
func (p *Pool) candidates(ctx context.Context, fresh bool, limit time.Time) ([]string, error) {
	p.mu.Lock()
	members, known := p.members, time.Since(p.fresh) < freshFor
	p.mu.Unlock()
	if fresh || !known {
		var err error
		members, err = p.read(p.client.EvalBy(ctx, limit, &scripts.PoolMembers, []string{p.key}))
		if err != nil {
			return nil, err
		}
	}
	if !p.spread || len(members) < 2 {
		return members, nil
	}
	n := rand.IntN(len(members))
	return slices.Concat(members[n:], members[:n]), nil
}

// remember keeps what the members are; nil is not known.
func (p *Pool) remember(members []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members, p.fresh = members, time.Now()
	if members == nil {
		p.fresh = time.Time{}
	}
}

// maxMembers is how many members one call may name.
const maxMembers = 10_000

func (p *Pool) check(members []string) error {
	if len(members) > maxMembers {
		return p.client.ErrInvalid("%d members are too many for one call: give at most %d",
			len(members), maxMembers)
	}
	for _, m := range members {
		if m == "" {
			return p.client.ErrInvalid("a member's name is empty: give each a name")
		}
		if err := p.client.CheckName(p.name + m); err != nil {
			return err
		}
	}
	return nil
}
