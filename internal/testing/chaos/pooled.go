package chaos

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// The pool of a run, as package lock calls it, and the locks of all members that it can have. The first
// one never leaves.
const (
	poolOf   = "chaos"
	poolName = "{" + poolOf + "}/"
	poolKey  = "lock-pool:{" + poolOf + "}"
)

var members = []string{poolName + "m0", poolName + "m1", poolName + "m2"}

// memberOf returns the member whose lock it is.
func memberOf(name string) (member string, pooled bool) {
	member, pooled = strings.CutPrefix(name, poolName)
	return member, pooled && member != ""
}

// anyMember takes any member of the pool and holds it, or changes the pool. It returns false if it did
// not get one.
func (w *worker) anyMember(stop <-chan struct{}) bool {
	how := "Lock"
	switch draw := w.random.IntN(100); {
	case draw < 15:
		w.change()
		return false
	case draw < 30:
		how = "Do"
	case draw < 50:
		how = "TryLock"
	}
	o := w.order(how+" of the pool", poolName)
	p := w.pool(o.client, o.options)
	if chance(w.random, 50) {
		p, o.options = w.seat.pool(o.client), &lock.MutexOptions{TTL: w.run.cfg.TTL}
	}
	o.waits = how != "TryLock"
	switch how {
	case "Do":
		o.do = func(ctx context.Context, fn func(context.Context) error) error {
			return p.Do(ctx, func(ctx context.Context, _ string) error { return fn(ctx) })
		}
		return w.hold(o, stop)
	case "TryLock":
		o.take = func(ctx context.Context) (*lock.Lease, error) { return plain(p.TryLock(ctx)) }
	default:
		o.take = func(ctx context.Context) (*lock.Lease, error) { return plain(p.Lock(ctx)) }
	}
	return w.call(o, stop)
}

func plain(l *pool.Lease, err error) (*lock.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l.Lease, nil
}

// pool returns the pool as a client sees it.
func (w *worker) pool(c *lock.Client, o *lock.MutexOptions) *pool.Pool {
	return pool.New(c, poolOf, &pool.Options{Spread: chance(w.random, 50), Lock: o})
}

// change adds a member to the pool, or takes one out.
func (w *worker) change() {
	ctx, cancel := w.context(poolName)
	defer cancel()
	member, _ := memberOf(pick(w.random, members[1:]))
	c := Change{Name: poolName + member, Out: chance(w.random, 50), Call: w.run.now()}
	change, p := (*pool.Pool).Extend, w.pool(w.seat.current(), nil)
	if c.Out {
		change = (*pool.Pool).Shrink
	}
	_, err := change(p, ctx, member)
	c.Return, c.Unsure = w.run.now(), err != nil
	w.returned(ctx, order{how: "change of the pool", name: poolName}, c.Call, c.Return, err)
	w.run.record(func(h *History) { h.Changes = append(h.Changes, c) })
}

// assign makes all members the pool's. Its client is there for that time only.
func (r *run) assign() {
	c, err := lock.Open(r.server.URL(), nil)
	if err != nil {
		panic(err) // the URL is ours
	}
	defer c.Close()
	var all []string
	for _, name := range members {
		member, _ := memberOf(name)
		all = append(all, member)
	}
	if _, _, err := pool.New(c, poolOf, nil).Assign(context.Background(), all...); err != nil {
		r.seen("making the pool: %v", err)
	}
}

// shrunk looks whether anybody got a member of the pool after it had left.
func (h *History) shrunk(name string, leases []Lease) (found []Violation) {
	for _, l := range leases {
		if !strings.HasSuffix(l.How, " of the pool") {
			continue
		}
		for _, out := range h.Changes {
			if out.Name == name && out.Out && !out.Unsure && out.Return < l.Call && !h.readded(out, l) {
				found = append(found, violation("shrunk", "left by %v: %v", out.Return, l))
				break
			}
		}
	}
	return found
}

// readded reports whether the member may have come back between its leaving and the lease.
func (h *History) readded(out Change, l Lease) bool {
	return slices.ContainsFunc(h.Changes, func(in Change) bool {
		return in.Name == out.Name && !in.Out && in.Call < l.Return && (in.Unsure || in.Return > out.Call)
	})
}
