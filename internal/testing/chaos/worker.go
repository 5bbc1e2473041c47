package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// patience is how long a call waits that is not to be cancelled.
const patience = 30 * time.Second

// A worker runs a random program: it takes a lock in some way, believes in it for a while, and gives
// it up in some way.
type worker struct {
	run    *run
	seat   *seat
	index  int
	random *rand.Rand
	given  int    // ids
	id     string // the last one of them that nobody else knows
}

// work runs until stop is closed. What it holds then it gives up; for what it waits for it goes on
// waiting.
func (w *worker) work(stop <-chan struct{}) {
	for !over(stop) {
		if chance(w.random, 2) {
			w.seat.reopen(w.run)
		}
		if !w.take(stop) {
			time.Sleep(upTo(w.random, 4*time.Millisecond))
		}
	}
}

// over reports whether a channel is closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// take takes a lock in some way and holds it. It returns false if it did not get one.
func (w *worker) take(stop <-chan struct{}) bool {
	name := pick(w.random, w.run.names)
	switch draw := w.random.IntN(100); {
	case draw < 10:
		name = stay
	case draw < 14:
		name = pick(w.random, members)
	case draw < 32:
		return w.anyMember(stop)
	case draw < 37:
		return w.block(name)
	case draw < 45 && w.run.cfg.Operator:
		return w.operate(name, stop)
	}
	switch draw := w.random.IntN(100); {
	case draw < 15:
		if id, ok := w.run.handed(name); ok {
			return w.call(w.adopt(name, id), stop)
		}
		return w.call(w.lock(name), stop)
	case draw < 35:
		return w.call(w.tryLock(name), stop)
	case draw < 50:
		return w.hold(w.do(name), stop)
	default:
		return w.call(w.lock(name), stop)
	}
}

// call takes a lock by one call, and holds it.
func (w *worker) call(o order, stop <-chan struct{}) bool {
	ctx, cancel := w.context(o.name)
	defer cancel()
	began := w.run.now()
	lease, err := o.take(ctx)
	b := w.belief(lease, o, began)
	w.returned(ctx, o, began, b.rec.Return, err)
	if err != nil {
		return false
	}
	lease = nil // b may drop it
	b.hold(stop)
	b.finish(stop)
	b.write()
	return true
}

// hold holds a lock by Do, which must tell of a loss.
func (w *worker) hold(o order, stop <-chan struct{}) bool {
	ctx, cancel := w.context(o.name)
	defer cancel()
	began := w.run.now()
	var b *belief
	err := o.do(ctx, func(inner context.Context) error {
		b = w.belief(lock.LeaseFrom(inner), o, began)
		w.returned(ctx, o, began, b.rec.Return, nil)
		b.hold(stop)
		return nil
	})
	if b == nil {
		w.returned(ctx, o, began, w.run.now(), err)
		return false
	}
	if b.lost && !errors.Is(err, lock.ErrLost) {
		w.run.seen("%s of %s lost its lease and returned %v", o.how, o.name, err)
	}
	b.rec.Released = err == nil
	b.left()
	b.write()
	return true
}

// context returns a context that lives for long, or for some time, or hardly. Nobody waits for long for a
// lock that may stay held for ever.
func (w *worker) context(name string) (context.Context, context.CancelFunc) {
	d := patience
	switch draw := w.random.IntN(100); {
	case draw < 10:
		d = upTo(w.random, 4*time.Millisecond)
	case draw < 35 || name == stay:
		d = upTo(w.random, 3*w.run.cfg.TTL)
	}
	return context.WithTimeout(context.Background(), d)
}
