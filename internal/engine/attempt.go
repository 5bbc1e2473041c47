package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
)

// A Want is what is to be acquired, and how.
type Want struct {
	Target   Target
	Settings Settings
	Op       string // what errors call it: "acquire", "adopt"
}

// An attempt is what one call of Lock or TryLock asks of Redis. It belongs to the goroutine of the
// call, and has no mutex. What it leaves behind is the janitor's.
//
// It keeps the id of an acquire whose outcome is not known. That one is repeated under the same id,
// which Redis then finds or does not find. Every other acquire has a fresh one. An id that the user
// chose may be somebody else's as well, so an acquire under it is never repeated when its outcome
// is not known.
type attempt struct {
	engine *Engine
	want   Want
	name   string
	chosen string    // the id that the user wants; "" for a fresh one
	since  time.Time // when the call began
	lost   lostReply // the acquire in doubt, if there is one
}

// attempt returns a new attempt. Nothing of it is in doubt.
func (e *Engine) attempt(w Want, since time.Time) attempt {
	a := attempt{engine: e, want: w, name: w.Target.Name(), since: since}
	if c, ok := w.Target.(Chooser); ok {
		a.chosen = c.Chosen()
	}
	return a
}

// ask asks for the target. It returns a lease, or who holds it, or the error. It blocks until ctx
// ends, at most for the operation limit.
func (a *attempt) ask(ctx context.Context) (*Lease, *store.Held, error) {
	return a.want.Target.Ask(ctx, a)
}

// Send sends one acquire.
//
// At most one acquire is in doubt at a time. If Redis answers a repeat, that settles the doubt one
// way or the other:
//   - granted: the id is ours, by this acquire or the earlier one. The earlier one may still be
//     executed, so the lease remembers that it was repeated. What else the earlier one may take is
//     released.
//   - held by somebody else: the earlier one took nothing so far. It is handed to the janitor, and
//     the next acquire has a fresh id.
//
// If the repeat itself gets no reply, the doubt begins anew, under the same id.
func (a *attempt) Send(ctx context.Context, limit time.Time, t Try) (*Lease, *store.Held, error) {
	repeat := a.lost.inDoubt()
	id, err := a.nextID()
	if err != nil {
		return nil, nil, err
	}
	order := Order{Settings: &a.want.Settings, ID: id, Chosen: a.chosen != "", Repeat: repeat}
	got, err := t.Send(ctx, limit, order)
	switch {
	case err != nil:
		if store.Sent(err) {
			a.lost.note(order, t)
		}
		return nil, nil, err
	case got.Held != nil && a.chosen != "" && got.Held.Owner == id:
		return nil, nil, ErrAlreadyHeld
	case got.Held != nil:
		if repeat {
			a.Abandon()
		}
		return nil, got.Held, nil
	}
	if repeat && got.Rest != nil {
		a.lost.release(a.engine.janitor, got.Rest, time.Now().Add(store.OperationLimit))
	}
	lease, err := a.granted(ctx, id, repeat, got)
	return lease, nil, err
}

// nextID returns the id of the next acquire: the one in doubt, the chosen one, or a fresh one.
func (a *attempt) nextID() (string, error) {
	if id := cmp.Or(a.lost.order.ID, a.chosen); id != "" {
		owner.Uses(id)
		return id, nil
	}
	return NewID(a.want.Settings.Label)
}

// granted makes the lease of what Redis granted.
//
// The lease begins before the key is made permanent, and before the program gets it. So Close finds
// every lease that was granted: as one to withhold, which granted then notices, or as one that was
// handed out. The handing decides which, once.
func (a *attempt) granted(ctx context.Context, id string, repeated bool, got Got) (*Lease, error) {
	e := a.engine
	a.lost.settled()
	l := &Lease{
		core: &e.core, name: got.Name, id: id, fence: got.Fence, holding: got.Holding, repeated: repeated,
		settings: a.want.Settings, since: time.Now(),
	}
	if err := e.hold(l, got.Sent); err != nil {
		l.giveBack()
		return nil, err
	}
	if l.settings.NoExpiry {
		l.makePermanent(ctx)
		l.late.Store(int64(time.Since(l.since)))
	}
	if !l.handing.handOut() { // and Close gives it back
		return nil, ErrClosed
	}
	l.handOver(time.Since(a.since))
	return l, nil
}

// handOver tells of the lease. If that does not return, by a panic of the hook or the end of its
// goroutine, nobody gets the lease, and it ends as one that the program dropped.
func (l *Lease) handOver(waited time.Duration) {
	returned := false
	defer func() {
		if !returned {
			l.Drop()
		}
	}()
	tell(l.events.Acquired, Acquired{
		Name: l.name, Label: l.settings.Label, Fence: l.fence, Waited: waited, Until: l.Deadline(),
	})
	returned = true
}

// hold begins the lease of what Redis granted to an acquire that was sent after before.
//
// The lease counts from before, not from the reply: Redis began to count the TTL in between. It is
// added to the stats first, since it can end, and be taken off, while Add still runs.
func (e *Engine) hold(l *Lease, before time.Time) (err error) {
	s := &l.settings
	l.cuts.longest = s.TTL
	e.stats.countLease()
	l.term, err = e.leases.Add(l, renewal.Config{
		TTL:       s.TTL,
		Margin:    s.MarginFor(s.TTL),
		Sent:      renewal.At(before),
		NoRenewal: s.NoRenewal,
		NoExpiry:  s.NoExpiry,
		MaxHold:   s.MaxHold,
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, renewal.ErrClosed):
		err = ErrClosed
	default:
		err = errLate
	}
	e.stats.countNoLease()
	return err
}

// InDoubt returns the try in doubt.
func (a *attempt) InDoubt() Try { return a.lost.try }

// Abandon deals with an acquire in doubt that was not found when it was repeated. It is lost, or
// will be executed yet.
func (a *attempt) Abandon() { a.lost.cleanUp(a.engine.janitor, time.Now().Add(store.OperationLimit)) }

// settle has an acquire cleaned up that is still in doubt when its call ends: at once, behind it on
// the same connection if that lives, and again later.
func (a *attempt) settle() { a.lost.cleanUp(a.engine.janitor, time.Now()) }

// hopeless reports whether asking again after err is of no use. Before the first connection, a
// network error is taken for a mistake in the address. Before the first answer, so is a server that
// is not the master.
func (a *attempt) hopeless(ctx context.Context, err error) bool {
	s := a.engine.store
	return ctx.Err() != nil || a.lost.stray || !repeatable(err) ||
		// Its clean-up is under way, and would be found.
		errors.Is(err, errLate) && a.chosen != "" ||
		store.Broken(err) && !s.Met() ||
		s.Misled(err)
}

// twice asks, and once again after a network error. A second error is final, and what is in doubt
// then is left to the janitor.
func (a *attempt) twice(ctx context.Context) (*Lease, error) {
	lease, held, err := a.ask(ctx)
	if store.Broken(err) && !a.hopeless(ctx, err) {
		a.engine.stats.countRetry()
		lease, held, err = a.ask(ctx)
	}
	switch {
	case lease != nil:
		return lease, nil
	case held != nil:
		return nil, a.engine.words.Held(a.name, held)
	}
	return nil, a.fail(err)
}

// fail returns the error of an attempt that is given up.
func (a *attempt) fail(err error) error {
	doubt := a.lost.unknown()
	a.settle()
	if errors.Is(err, store.ErrNobody) {
		err = ErrNotHeld
	}
	err = Explain(a.want.Op, a.name, err)
	if doubt && !errors.Is(err, ErrUnknown) {
		err = errors.Join(err, ErrUnknown)
	}
	return err
}

// NewID returns a fresh owner id with this label.
func NewID(label string) (string, error) {
	id, err := owner.New(label)
	if err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	return id, nil
}
