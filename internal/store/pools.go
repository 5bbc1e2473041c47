package store

import (
	"context"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

// PoolKind is the kind of pools among the things that are waited for.
const PoolKind = "pool"

// Pools is what a store knows of pools. A pool is a set of members, any of which will do. The pool
// P is called {P}/, and its member m has the lock {P}/m. Who waits for any of them waits under the
// pool's own name, for a signal that says which member was released. Its methods may be called from
// any goroutine.
type Pools struct {
	store *Store

	mu    sync.Mutex // guards the fields below
	known map[string]*pool
	// free is what the last signal of a pool said: which member was released. It is taken once, and
	// may be wrong by then. A signal can be read when the last waiter has left; it is given back
	// then.
	free map[string]string
}

// A pool is kept for as long as somebody waits for it.
type pool struct {
	waiting int
	members []string // as the last acquire asked for them; nil if none did
}

func newPools(s *Store) *Pools {
	return &Pools{store: s, known: make(map[string]*pool), free: make(map[string]string)}
}

// Pools returns what the store knows of pools.
func (s *Store) Pools() *Pools { return s.kinds.get(PoolKind).(*Pools) }

// key returns the key of the sorted set of a pool's members.
func (p *Pools) key(name string) string { return p.store.Beside(KindPool, name[:len(name)-len("/")]) }

// Join begins to keep notes of a pool that is waited for. The caller calls Leave after it.
func (p *Pools) Join(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[name] == nil {
		p.known[name] = &pool{}
	}
	p.known[name].waiting++
}

// Leave ends what Join began. With the last who leaves the notes are forgotten.
func (p *Pools) Leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[name].waiting--; p.known[name].waiting == 0 {
		delete(p.known, name)
	}
}

// Know keeps which members were asked for. A look asks for the same ones.
func (p *Pools) Know(name string, members []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[name]; known != nil {
		known.members = members
	}
}

// membersOf returns those that were asked for last: none if nobody waits for the pool.
func (p *Pools) membersOf(name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[name]; known != nil {
		return known.members
	}
	return nil
}

// Signal returns the key where a pool's signals are. It has the form of that of a lock, which is
// why no lock may have such a name, see [Reserved].
func (p *Pools) Signal(name string) string { return p.store.signalKey(name) }

// longestMember bounds what is believed of a signal's text. Anybody can push there, and no name is
// longer.
const longestMember = 512

// Heard keeps what a signal said. Those that name no member say 1.
func (p *Pools) Heard(name, said string) {
	if said == "1" || len(said) > longestMember {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[name] = said
}

// Freed returns the member that the last signal said is free, once: "" for none. Whoever gets the
// name asks for that member first, and others need not.
func (p *Pools) Freed(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free[name]
	delete(p.free, name)
	return free
}

// GiveBack puts a signal back. One that does not say which member was released is always put back:
// there is no lock to look at. The name of the member is forgotten before, so that nobody else goes
// by it, and remembered if Redis did not answer.
func (p *Pools) GiveBack(ctx context.Context, name string) error {
	free := p.Freed(name)
	if free == "" {
		return p.store.repair(ctx, p.store.Lock(name, ""))
	}
	err := p.store.repair(ctx, p.member(name, free, ""))
	if err != nil {
		p.Heard(name, free) // for the next try
	}
	return err
}

// member returns the lock of a member as held under an id. Its signal is the pool's: nobody waits
// for the one member.
func (p *Pools) member(name, member, id string) Lock {
	l := p.store.Lock(name+member, id)
	l.Member, l.signal = member, p.Signal(name)
	return l
}

// maxLook bounds the members that one look asks for. Pools beyond it are said to have a free one,
// which has their heads ask for themselves.
const maxLook = 10_000

// Look returns for how long all members of each pool are held. Of a pool of which no members are
// known, nobody has asked for any yet. It counts as free, which has somebody ask.
func (p *Pools) Look(ctx context.Context, names []string) ([]signal.Left, error) {
	left := make([]signal.Left, len(names))
	r := Run{Script: &scripts.LookAny}
	var at []int // of the pools that are asked for
	for i, name := range names {
		left[i] = signal.Free
		members := p.membersOf(name)
		if len(members) == 0 || len(r.Keys)+len(members) > maxLook {
			continue
		}
		at, r.Keys, r.Args = append(at, i), append(r.Keys, p.key(name)), append(r.Args, len(members))
		for _, member := range members {
			r.Keys, r.Args = append(r.Keys, p.store.LockKey(name+member)), append(r.Args, member)
		}
	}
	if len(at) == 0 {
		return left, nil
	}
	reply, _, err := p.store.Eval(ctx, LimitFromNow(), r)
	if err != nil {
		return nil, err
	}
	seen, err := parseAllLeft(reply, len(at), parseLeftOfAny)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		left[i] = seen[n]
	}
	return left, nil
}

// Reserved returns the pool whose waiters wait under a name that no lock may have; "" for none.
func Reserved(name string) (pool string) {
	if len(name) > 3 && strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}/") {
		return name[1 : len(name)-2]
	}
	return ""
}
