package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// An order is what one call is to take, and how.
type order struct {
	how, name string // the name of a pool, if any member is wanted
	client    *lock.Client
	waits     bool
	options   *lock.MutexOptions
	again     bool // the id that the options give was used before

	take func(context.Context) (*lock.Lease, error)
	do   func(context.Context, func(context.Context) error) error // instead of take
}

// lock waits for a lock.
func (w *worker) lock(name string) order {
	o := w.order("Lock", name)
	o.waits, o.take = true, o.mutex().Lock
	return o
}

// tryLock takes a lock if it is free.
func (w *worker) tryLock(name string) order {
	o := w.order("TryLock", name)
	o.take = o.mutex().TryLock
	return o
}

// do waits for a lock and holds it while a function runs.
func (w *worker) do(name string) order {
	o := w.order("Do", name)
	o.waits, o.do = true, o.mutex().Do
	return o
}

// adopt takes a lock over that was detached. Ids are handed on once, so that KeepID, too, makes nobody
// believe in the lease of somebody else.
func (w *worker) adopt(name, id string) order {
	o := w.order("Adopt", name)
	o.options.KeepID = !o.options.NoFence && chance(w.random, 30)
	m := o.mutex()
	o.take = func(ctx context.Context) (*lock.Lease, error) { return m.Adopt(ctx, id) }
	return o
}

func (w *worker) order(how, name string) order {
	o := order{how: how, name: name, client: w.seat.current()}
	o.options, o.again = w.options(how, name)
	return o
}

func (o order) mutex() *lock.Mutex { return o.client.MutexWith(o.name, o.options) }

// returned looks at what a call came to.
func (w *worker) returned(ctx context.Context, o order, call, back time.Duration, err error) {
	if o.waits {
		w.run.record(func(h *History) {
			h.Waits = append(h.Waits, Wait{o.name, w.seat.index, call, back})
		})
	}
	end, _ := ctx.Deadline()
	ended := end.Sub(w.run.began)
	if late := w.run.took(ended); err != nil && late > slack {
		w.run.seen("%s of %s returned %v after its context's end", o.how, o.name, late)
	}
	if took := w.run.took(call); !o.waits && took > 2*operationLimit+slack {
		w.run.seen("%s of %s took %v", o.how, o.name, took)
	}
	for _, wrong := range o.wrong() {
		if errors.Is(err, wrong) {
			w.run.seen("%s of %s returned %v", o.how, o.name, err)
		}
	}
}

// wrong returns the errors that a call must not return.
func (o order) wrong() []error {
	wrong := []error{
		lock.ErrInvalid, lock.ErrWrongType, lock.ErrTooManyWaiters, lock.ErrDetached,
		lock.ErrReleased, lock.ErrMaxHold, lock.ErrLost, pool.ErrEmpty,
	}
	if o.how != "Adopt" {
		wrong = append(wrong, lock.ErrNotHeld)
	}
	if !o.again { // else an acquire under the same id may have been executed late, or not be released
		wrong = append(wrong, lock.ErrAlreadyHeld)
	}
	return wrong
}
