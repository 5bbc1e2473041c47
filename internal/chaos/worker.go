package chaos

import (
	"context"
	"errors"
	"fmt"
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
	taken  int // ids given
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
	name := w.run.names[w.random.IntN(len(w.run.names))]
	if w.run.cfg.Operator && chance(w.random, 10) {
		return w.operate(name, stop)
	}
	switch draw := w.random.IntN(100); {
	case draw < 10:
		if id, ok := w.run.handed(name); ok {
			return w.call("Adopt", name, stop, adopt(id))
		}
		return w.call("Lock", name, stop, lockIt)
	case draw < 30:
		return w.call("TryLock", name, stop, tryIt)
	case draw < 45:
		return w.do(name, stop)
	default:
		return w.call("Lock", name, stop, lockIt)
	}
}

// A taker takes a lock by one call.
type taker func(context.Context, *lock.Mutex) (*lock.Lease, error)

func lockIt(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Lock(ctx) }

func tryIt(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) }

func adopt(id string) taker {
	return func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Adopt(ctx, id) }
}

// call takes a lock by one call, and holds it.
func (w *worker) call(how, name string, stop <-chan struct{}, call taker) bool {
	ctx, cancel := w.context()
	defer cancel()
	options := w.options(how)
	m := w.seat.current().MutexWith(name, options)
	began := w.run.now()
	lease, err := call(ctx, m)
	h := w.belief(lease, Lease{Name: name, How: how, Call: began, AtLeast: options.HoldAtLeast})
	w.returned(ctx, h.rec, err)
	if err != nil {
		return false
	}
	h.hold(stop)
	h.finish(stop)
	h.write()
	return true
}

// do holds a lock by Do, which must tell of a loss.
func (w *worker) do(name string, stop <-chan struct{}) bool {
	options := w.options("Do")
	m := w.seat.current().MutexWith(name, options)
	rec := Lease{Name: name, How: "Do", Call: w.run.now(), AtLeast: options.HoldAtLeast}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var h *belief
	err := m.Do(ctx, func(ctx context.Context) error {
		h = w.belief(lock.LeaseFrom(ctx), rec)
		w.returned(ctx, h.rec, nil)
		h.hold(stop)
		return nil
	})
	if h == nil {
		rec.Return = w.run.now()
		w.returned(ctx, rec, err)
		return false
	}
	if h.lost && !errors.Is(err, lock.ErrLost) {
		w.run.seen("Do of %s lost its lease and returned %v", name, err)
	}
	h.rec.Released = err == nil
	h.write()
	return true
}

// context returns a context that lives for long, or for some time, or hardly.
func (w *worker) context() (context.Context, context.CancelFunc) {
	d := patience
	switch draw := w.random.IntN(100); {
	case draw < 10:
		d = upTo(w.random, 4*time.Millisecond)
	case draw < 35:
		d = upTo(w.random, 3*w.run.cfg.TTL)
	}
	return context.WithTimeout(context.Background(), d)
}

// options returns options for one lock. Ids that are given are unique.
func (w *worker) options(how string) *lock.MutexOptions {
	ttl, o := w.run.cfg.TTL, &lock.MutexOptions{TTL: w.run.cfg.TTL}
	o.NoRenewal = chance(w.random, 15)
	o.NoFence = chance(w.random, 10)
	if chance(w.random, 10) {
		o.MaxHold = ttl/2 + upTo(w.random, 3*ttl)
	}
	if chance(w.random, 8) && o.MaxHold == 0 && how != "Adopt" && how != "Seize" {
		o.HoldAtLeast = upTo(w.random, 2*ttl)
	}
	if chance(w.random, 5) && !o.NoFence && how != "Adopt" {
		w.taken++
		o.ID = fmt.Sprintf("chaos-%d-%d", w.index, w.taken)
	}
	return o
}

// returned looks at what a call that takes a lock came to.
func (w *worker) returned(ctx context.Context, rec Lease, err error) {
	waits := rec.How == "Lock" || rec.How == "Do"
	if waits {
		w.run.record(func(h *History) {
			h.Waits = append(h.Waits, Wait{rec.Name, w.seat.index, rec.Call, rec.Return})
		})
	}
	if end, _ := ctx.Deadline(); err != nil && time.Since(end) > slack {
		w.run.seen("%s of %s returned %v after its context's end", rec.How, rec.Name, time.Since(end))
	}
	if took := rec.Return - rec.Call; !waits && took > 2*operationLimit+slack {
		w.run.seen("%s of %s took %v", rec.How, rec.Name, took)
	}
	wrong := []error{
		lock.ErrInvalid, lock.ErrWrongType, lock.ErrTooManyWaiters, lock.ErrDetached,
		lock.ErrReleased, lock.ErrMaxHold, lock.ErrLost, lock.ErrAlreadyHeld,
	}
	if rec.How != "Adopt" {
		wrong = append(wrong, lock.ErrNotHeld)
	}
	for _, e := range wrong {
		if errors.Is(err, e) {
			w.run.seen("%s of %s returned %v", rec.How, rec.Name, err)
		}
	}
}
