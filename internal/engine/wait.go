package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// A wait is one call of Lock that did not get what it wanted at once. It belongs to the goroutine
// of the call, as its attempt does. The hub's goroutines reach it only by its place in line.
type wait struct {
	attempt
	place *signal.Waiter
	held  *store.Held // the last answer; nil if it was none
	met   []error     // errors on the way

	failing time.Time // when the first of the attempts in a row failed that got no answer
	failed  int       // how many these are
}

// begin asks, and waits while somebody else holds the target. Whoever finds others of this engine
// in line goes behind them without asking.
func (w *wait) begin(ctx context.Context) (*Lease, error) {
	if w.engine.hub.Queued(w.want.Target.Place()) {
		if err := w.alreadyHeld(ctx); err != nil {
			return nil, w.end(ctx, err)
		}
		return w.inQueue(ctx)
	}
	lease, held, err := w.ask(ctx)
	switch {
	case lease != nil:
		return lease, nil
	case held != nil:
		w.held = held
	case w.hopeless(ctx, err):
		return nil, w.end(ctx, err)
	default:
		w.retry(err)
	}
	return w.inQueue(ctx)
}

// alreadyHeld looks whether the target is held under the id that the user chose, which the others
// in the queue would find out only after it was released. What goes wrong with that does not
// matter.
func (w *wait) alreadyHeld(ctx context.Context) error {
	if w.chosen == "" {
		return nil
	}
	held, err := w.want.Target.(Chooser).Holder(ctx)
	if err == nil && held != nil && held.Owner == w.chosen {
		return ErrAlreadyHeld
	}
	return nil
}

// inQueue waits for the turn to ask, asks, and so on.
//
// Only the head of a line asks. It tells the others who holds the target, for their errors.
// Whichever way it returns, by a panic of a hook too, it leaves the line: the next one becomes the
// head, and a signal that was not used goes on.
func (w *wait) inQueue(ctx context.Context) (lease *Lease, err error) {
	e := w.engine
	if !e.stats.countWait(e.maxWaiters) {
		return nil, w.end(ctx, w.tooMany())
	}
	defer func() { e.stats.countWaited(lease != nil) }()
	left := signal.Unknown
	if w.held != nil {
		left = w.refused(w.held)
	}
	w.place, err = e.hub.Join(w.want.Target.Place(), left)
	if err != nil {
		return nil, w.end(ctx, err)
	}
	defer func() { w.place.Leave(lease != nil) }()
	if w.held != nil {
		w.place.Tell(w.held)
	}
	for {
		if err := w.place.Wait(ctx); err != nil {
			return nil, w.end(ctx, err)
		}
		lease, held, err := w.persist(ctx)
		switch {
		case lease != nil:
			return lease, nil
		case err != nil:
			return nil, w.end(ctx, err)
		}
		left := w.refused(held)
		w.place.Tell(held)
		w.place.Taken(left)
	}
}

// tooMany returns the error of a wait that may not begin.
func (w *wait) tooMany() error {
	err := fmt.Errorf("%w: %d wait in this client, as many as MaxWaiters allows",
		ErrTooManyWaiters, w.engine.maxWaiters)
	if w.held != nil {
		err = errors.Join(err, w.engine.words.Held(w.name, w.held))
	}
	return errors.Join(append([]error{err}, w.met...)...)
}

// persist asks until Redis answers. An error that passes does not cost the head of a line its
// place. Those behind it are told that nobody knows who holds the target.
func (w *wait) persist(ctx context.Context) (*Lease, *store.Held, error) {
	for {
		lease, held, err := w.ask(ctx)
		if err == nil || w.hopeless(ctx, err) {
			return lease, held, err
		}
		w.retry(err)
		w.place.Tell(nil)
		if !w.pause(ctx) {
			return nil, nil, ErrClosed
		}
	}
}

// refused takes note of who holds the target, and returns for how long.
func (w *wait) refused(held *store.Held) signal.Left {
	w.held, w.failed = held, 0
	tell(w.engine.events.Waiting, Waiting{Name: w.name, Held: held, Waited: time.Since(w.since)})
	if held.TTL == store.NoExpiry {
		return signal.Forever
	}
	return signal.For(held.TTL)
}

// retry takes note of an error after which the attempt is repeated.
func (w *wait) retry(err error) {
	w.note(err)
	e := w.engine
	e.stats.countRetry()
	if w.failed++; w.failed == 1 {
		w.failing = time.Now()
	}
	if _, ok := e.retries.due(err); ok {
		tell(e.events.Retrying, Retrying{
			Name: w.name, Err: err, For: time.Since(w.failing), Times: w.failed,
		})
	}
}

// maxMet bounds the errors that a wait keeps.
const maxMet = 4

// note keeps an error for the final one. What Redis answered before it is not known to be true any
// more.
func (w *wait) note(err error) {
	w.held = nil
	for i, old := range w.met {
		if old.Error() == err.Error() {
			w.met = append(w.met[:i], w.met[i+1:]...)
			break
		}
	}
	if len(w.met) == maxMet {
		w.met = w.met[1:]
	}
	w.met = append(w.met, err)
}

// pause waits 20 to 200 ms before the next attempt, or until ctx ends. It returns false at once
// when the engine is closed.
func (w *wait) pause(ctx context.Context) bool {
	t := time.NewTimer(20*time.Millisecond + rand.N(180*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-w.engine.closing:
		return false
	}
	return true
}

// end returns the error with which the waiting ends.
//
// The context is looked at first. When it ends while an acquire is under way, the acquire's own
// error says only that it was given up.
func (w *wait) end(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return w.fail(err)
	}
	g := GaveUp{Name: w.name, Waited: time.Since(w.since), Held: w.held, Met: w.met}
	g.Ended = []error{ctx.Err()}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		g.Ended = append(g.Ended, cause)
	}
	if w.place != nil {
		if held, ok := w.place.Told().(*store.Held); ok && g.Held == nil {
			g.Held = held // what the head of the queue was told; this one may never have asked
		}
		g.Met = append(g.Met, w.place.Trouble()...)
	}
	if w.lost.unknown() {
		g.Met = append(g.Met, ErrUnknown)
		w.settle()
	}
	return w.engine.words.GaveUp(g)
}
