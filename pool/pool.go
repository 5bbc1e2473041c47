package pool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrEmpty is the error of taking a member from a pool that has none.
var ErrEmpty = store.ErrNoMembers

// Options configure a [Pool]. Nil is ready for use, and so is a field's zero value.
type Options struct {
	// Spread has members tried from anywhere on, so that all are used about equally often. Without
	// Spread they are tried in the order of the pool, and the first ones are preferred.
	Spread bool

	// Lock are the options of the members' locks: TTL, MaxHold and so on. ID and KeepID are for
	// single locks, and are refused. Default: the client's.
	Lock *lock.MutexOptions
}

// A Pool is a name with members, as a client sees it. A Pool holds nothing. Share it freely: its
// methods may be called from any goroutine. Two values for the same name are the same pool, in any
// process.
//
// Most callers want [Pool.Do]. Bad names and options show at the first call, as lock.ErrInvalid,
// before anything is sent. Errors are those of package lock.
//
// Unless a call says otherwise, it blocks for one round trip, and for a second one after a network
// error. That takes at most two operation limits of 2 s, and ends with the context.
type Pool struct {
	client  *bridge.View[*lock.Lease, *lock.MutexOptions, lock.Owner]
	pools   *store.Pools
	name    string // as package lock calls it
	spread  bool
	options *lock.MutexOptions
	err     error // what is wrong with the name

	mu      sync.Mutex // guards the fields below
	members []string   // as they were read
	fresh   time.Time  // when they were; zero: they are not known
}

// New returns the pool of this name. It does no input or output.
func New(c *lock.Client, name string, o *Options) *Pool {
	p := &Pool{client: bridge.Of(c), name: "{" + name + "}/"}
	p.pools = p.client.Engine.Store().Pools()
	if o != nil {
		p.spread, p.options = o.Spread, o.Lock
	}
	p.err = p.client.CheckName(p.name)
	if p.err == nil && (name == "" || strings.ContainsAny(name, "{}")) {
		p.err = engine.Invalid("the pool's name %.40q is empty or has braces, which choose the"+
			" slot in Redis Cluster: give it a name without", name)
	}
	return p
}

// wrong returns what is wrong with the pool itself.
func (p *Pool) wrong() error {
	if p == nil || p.client == nil {
		return fmt.Errorf("pool: %w: the pool is nil, or empty: use one that New returned",
			lock.ErrInvalid)
	}
	return p.err
}

// freshFor is how long the members are remembered. What is remembered need not be true, even for so
// long:
//   - A member that has left is not taken. The script that takes one looks who belongs to the pool.
//   - One that has come is found. The script says if the pool has others than it was asked for, and
//     then the members are read again.
const freshFor = time.Second

// candidates returns the members in the order in which they are to be tried. fresh has them read,
// whatever is remembered.
//
// The mutex is not held while Redis is asked. So several callers may read the members at once, and
// the answer that comes last is remembered, though it may not be the newest.
func (p *Pool) candidates(ctx context.Context, fresh bool, limit time.Time) ([]string, error) {
	p.mu.Lock()
	members, known := p.members, time.Since(p.fresh) < freshFor
	p.mu.Unlock()
	if fresh || !known {
		var err error
		if members, err = p.pools.Candidates(ctx, limit, p.name); err != nil {
			return nil, err
		}
		p.remember(members)
	}
	if !p.spread || len(members) < 2 {
		return members, nil
	}
	n := rand.IntN(len(members))
	return slices.Concat(members[n:], members[:n]), nil
}

// remember keeps what the members are. nil forgets them. A list that is kept is never changed:
// callers share it.
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
		return engine.Invalid("%d members are too many for one call: give at most %d",
			len(members), maxMembers)
	}
	for _, m := range members {
		if m == "" {
			return engine.Invalid("a member's name is empty: give each a name")
		}
		if err := p.client.CheckName(p.name + m); err != nil {
			return err
		}
	}
	return nil
}
