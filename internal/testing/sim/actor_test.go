package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// An actor is a goroutine of a client that does one turn after the other.
type actor struct {
	world  *world
	client *client
	name   string
	turns  int
}

func (a *actor) run(turns []turn) {
	for i := range turns {
		time.Sleep(turns[i].wait) // in the bubble
		a.turns++
		turns[i].opts.Label = fmt.Sprintf("%st%d", a.name, a.turns)
		if turns[i].opts.ID != "" {
			turns[i].opts.Label = ""
		}
		a.turn(&turns[i])
	}
}

// context returns a context that ends after the limit, be it that it is cancelled then.
func (a *actor) context(limit time.Duration, cancel bool) (context.Context, context.CancelFunc) {
	if !cancel {
		return context.WithTimeout(context.Background(), limit)
	}
	ctx, stop := context.WithCancel(context.Background())
	t := time.AfterFunc(limit, stop)
	return ctx, func() { t.Stop(); stop() }
}

// turn does one turn.
func (a *actor) turn(t *turn) {
	w, name := a.world, fmt.Sprintf("n%d", t.name)
	ctx, cancel := a.context(t.limit, t.cancel)
	defer cancel()
	call := w.now()
	w.note("%s: %v %s, %v, %+v", a.name, t.take, name, t.limit, t.opts)
	if t.take == doIt {
		a.do(ctx, t, name, call)
		return
	}
	place := name
	if t.take == poolLock {
		place = poolPlace
	}
	var wait *waiting
	if t.take == lockIt || t.take == poolLock {
		wait = w.waitsFor(place, a.client.index)
	}
	lease, name, err := a.take(ctx, t, name, call)
	if t.opts.TTL == lock.NoExpiry && w.plan.clients[a.client.index].close != 0 {
		w.mayStay(name) // it may be closed right after the lock was made permanent
	}
	w.waited(wait)
	if t.take != block { // which looks itself
		a.took(t, call)
	}
	if err != nil {
		a.failed(t, name, err)
		return
	}
	if lease == nil {
		return
	}
	b := w.believe(lease, &belief{
		name: name, actor: a.name, client: a.client.index, call: call, opts: t.opts, take: t.take,
	})
	a.hold(t, b)
}

// took checks how long an acquire has taken.
func (a *actor) took(t *turn, call stamp) {
	limit := 2*opLimit + time.Millisecond
	if t.opts.TTL == lock.NoExpiry {
		limit += opLimit // to make it permanent
	}
	if t.take == reset || t.take == seize {
		limit += 3 * opLimit // two steps, and both again within an operation limit
	}
	if t.take == lockIt || t.take == poolLock {
		limit = t.limit + 50*time.Millisecond
	}
	a.world.within(a.name+": "+t.take.String(), call.at, min(limit, t.limit+50*time.Millisecond))
}

// failed looks at the error of an acquire.
func (a *actor) failed(t *turn, name string, err error) {
	a.world.note("%s: %v %s: %v", a.name, t.take, name, err)
	a.world.abandon(t.opts.Label, a.client.index)
	var held *lock.HeldError
	if t.take == tryLock && errors.As(err, &held) && held.Owner.Label == t.opts.Label &&
		t.opts.Label != "" && !a.world.plan.late {
		a.world.violation("%s: TryLock %s found its own acquire there: %v", a.name, name, err)
	}
	known := []error{
		lock.ErrHeld, lock.ErrUnknown, lock.ErrClosed, lock.ErrAlreadyHeld, lock.ErrNotHeld,
		context.Canceled, context.DeadlineExceeded,
	}
	if !slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) && a.world.plan.calm {
		a.world.violation("%s: %v %s: %v", a.name, t.take, name, err)
	}
}

func (a *actor) do(ctx context.Context, t *turn, name string, call stamp) {
	w := a.world
	wait := w.waitsFor(name, a.client.index)
	ran := false
	err := a.client.MutexWith(name, &t.opts).Do(ctx, func(inner context.Context) error {
		w.waited(wait)
		ran = true
		b := w.believe(lock.LeaseFrom(inner), &belief{
			name: name, actor: a.name, client: a.client.index, call: call, opts: t.opts, take: t.take,
		})
		a.steps(t, b)
		w.endBelief(b, "Do returns")
		if t.opts.TTL == lock.NoExpiry && w.plan.clients[b.client].close != 0 {
			w.mayStay(name)
		}
		return nil
	})
	w.waited(wait)
	w.note("%s: Do %s: ran %v, %v", a.name, name, ran, err)
	if !ran && err == nil {
		w.violation("%s: Do %s did not run and returned nil", a.name, name)
	}
}

// take asks for the lock, and returns its name. The lease is nil for what has none.
func (a *actor) take(ctx context.Context, t *turn, name string, call stamp) (*lock.Lease, string, error) {
	w, m := a.world, a.client.MutexWith(name, &t.opts)
	var lease *lock.Lease
	var err error
	switch t.take {
	case tryLock:
		lease, err = m.TryLock(ctx)
	case lockIt:
		lease, err = m.Lock(ctx)
	case seize:
		o := w.takeover(name, call.seq)
		lease, err = m.Seize(ctx)
		o.over(w, err == nil)
	case reset:
		o := w.takeover(name, nobody)
		_, _, err = a.client.Reset(ctx, name)
		o.over(w, err == nil)
	case adopt, releaseID:
		return a.takeDetached(ctx, t, name, call)
	case poolTry, poolLock:
		return a.takeMember(ctx, t)
	case block:
		err = a.block(ctx, name, t.limit)
	}
	return lease, name, err
}

func (a *actor) takeDetached(ctx context.Context, t *turn, name string, call stamp) (
	*lock.Lease, string, error,
) {
	w := a.world
	w.mu.Lock()
	ids := w.detached[name]
	if len(ids) == 0 {
		w.mu.Unlock()
		return nil, name, nil
	}
	id := ids[len(ids)-1]
	shared := w.shared[id] || strings.HasPrefix(id, "given") // others may hold the lock under it
	w.shared[id] = shared || t.opts.KeepID
	w.mu.Unlock()
	if t.take == releaseID { // also of what has been adopted with KeepID
		o := w.takeover(name, nobody)
		err := a.client.ReleaseID(ctx, name, id)
		o.over(w, err == nil)
		return nil, name, err
	}
	if t.opts.KeepID || shared {
		w.takeover(name, call.seq) // never over: what is adopted may be adopted once more
	}
	lease, err := a.client.MutexWith(name, &t.opts).Adopt(ctx, id)
	return lease, name, err
}

const poolPlace = "{p}"

func (a *actor) takeMember(ctx context.Context, t *turn) (*lock.Lease, string, error) {
	p := pool.New(a.client.Client, "p", &pool.Options{Lock: &t.opts})
	take := p.Lock
	if t.take == poolTry {
		take = func(ctx context.Context) (*pool.Lease, error) { return p.TryLock(ctx) }
	}
	lease, err := take(ctx)
	if err != nil {
		return nil, poolPlace, err
	}
	return lease.Lease, poolPlace + "/" + lease.Member(), nil
}

// hold does with a lease what the turn says.
func (a *actor) hold(t *turn, b *belief) {
	a.steps(t, b)
	w := a.world
	w.note("%s: %v %s", a.name, t.end, b.name)
	switch t.end {
	case unlock:
		a.unlock(b, context.Background())
	case unlockDead:
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a.unlock(b, ctx)
	case unlockMany:
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { a.unlock(b, context.Background()) })
		}
		all.Wait()
	case detach:
		a.detach(b)
	}
}

func (a *actor) steps(t *turn, b *belief) {
	w := a.world
	for _, s := range t.steps {
		time.Sleep(s.wait) // in the bubble
		ctx, cancel := a.context(s.limit, false)
		began, err := w.elapsed(), error(nil)
		if s.what == extend || s.what == extendBy {
			b.lengthen(w, s.d)
		}
		switch s.what {
		case extend:
			err = b.lease.Extend(ctx, s.d)
		case extendBy:
			_, err = b.lease.ExtendBy(ctx, s.d)
		case renew:
			err = b.lease.Renew(ctx)
		case check:
			err = b.lease.Verify(ctx)
		}
		cancel()
		w.note("%s: %v %s by %v: %v", a.name, s.what, b.name, s.d, err)
		w.within(a.name+": "+s.what.String(), began, min(2*opLimit, s.limit)+time.Millisecond)
		b.look(w)
	}
}

// unlock releases a lease.
func (a *actor) unlock(b *belief, ctx context.Context) {
	w := a.world
	w.endBelief(b, "Unlock")
	began := w.elapsed()
	err := b.lease.Unlock(ctx)
	w.note("%s: Unlock %s: %v", a.name, b.name, err)
	w.within(a.name+": Unlock", began, 2*opLimit+time.Millisecond)
	w.released(b, err)
}

func (a *actor) detach(b *belief) {
	w := a.world
	ctx, cancel := a.context(5*time.Second, false)
	defer cancel()
	began := w.elapsed()
	if b.opts.TTL == lock.NoExpiry {
		w.mayStay(b.name)
	}
	// Detach may fail without ending the lease, which then goes on: its Done tells.
	id, err := b.lease.Detach(ctx)
	w.note("%s: Detach %s: %v", a.name, b.name, err)
	w.within(a.name+": Detach", began, 5*time.Second+time.Millisecond)
	if id == "" {
		a.unlock(b, context.Background())
		return
	}
	w.endBelief(b, "Detach")
	w.mu.Lock()
	w.detached[b.name] = append(w.detached[b.name], id)
	w.mu.Unlock()
}
