package lock

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
)

// errLate is why a lock that Redis granted is not taken: its lease was over when the reply came.
var errLate = errors.New("the reply came after the lease's end")

// An attempt is what one call of Lock or TryLock asks of Redis. It keeps the id of an acquire whose
// outcome is not known: that one is repeated under the same id, which Redis then finds or does not
// find; every other acquire has a fresh one. An id that the user chose may be somebody else's as well,
// so an acquire under it is never repeated when its outcome is not known.
type attempt struct {
	mutex  *Mutex
	since  time.Time // when Lock, TryLock or Adopt was called
	from   string    // the id to take the lock over from; "" to take it if it is free
	force  bool      // from is of somebody who does not know
	pool   *poolWait // any member's lock of a pool is wanted, and mutex stands for the pool; or nil
	id     string    // of the acquire in doubt; "" if there is none
	until  time.Time // when the acquire in doubt has expired, if it was executed
	gaveUp time.Time // when the acquire in doubt was given up
	stray  bool      // an acquire under a given id is in doubt, and stays so
}

// ask sends one acquire. It returns a lease, or who holds the lock, or the error. It blocks until
// ctx ends, at most for the operation limit.
func (a *attempt) ask(ctx context.Context) (*Lease, *HeldError, error) {
	if a.pool != nil {
		return a.askAny(ctx)
	}
	m := a.mutex
	doubt := a.id != ""
	id, err := a.nextID()
	if err != nil {
		return nil, nil, err
	}
	fence, held, before, err := m.client.store.acquire(ctx, acquisition{
		name: m.name, id: id, ttl: m.settings.ttl, atLeast: m.settings.atLeast, noFence: m.settings.noFence,
		must: a.from, chosen: a.given() != "",
	})
	switch {
	case err != nil:
		if sent(err) {
			a.doubt(id)
		}
		return nil, nil, err
	case held != nil && a.given() != "" && held.owner == id:
		return nil, nil, ErrAlreadyHeld
	case held != nil:
		if doubt {
			a.again()
		}
		return nil, m.heldError(held), nil
	}
	return a.granted(ctx, &hold{name: m.name, id: id, fence: fence, twice: doubt}, before)
}

// granted makes the lease of a lock that Redis granted to an acquire that was sent after before. It
// fills in what is the same for all holds.
func (a *attempt) granted(ctx context.Context, h *hold, before time.Time) (*Lease, *HeldError, error) {
	m := a.mutex
	a.id = ""
	h.client, h.settings, h.since = m.client, m.settings, time.Now()
	lease, err := m.client.grant(h, before)
	if err != nil {
		h.giveBack()
		return nil, nil, err
	}
	if m.settings.noExpiry {
		h.makePermanent(ctx)
		h.late.Store(int64(time.Since(h.since)))
	}
	if !h.handing.handOut() { // and Close gives the lock back
		return nil, nil, ErrClosed
	}
	tell(m.client.hooks.Acquired, AcquiredInfo{
		Name: h.name, Label: m.settings.label, Fence: h.fence,
		Waited: time.Since(a.since), Until: lease.Deadline(),
	})
	return lease, nil, nil
}

// given returns the id that the user wants the lock to be held under, "" if that is a fresh one.
func (a *attempt) given() string {
	switch {
	case a.from == "" || a.force:
		return a.mutex.settings.id
	case a.mutex.settings.keepID:
		return a.from
	}
	return ""
}

// nextID returns the id of the next acquire: the one in doubt, the given one, or a fresh one.
func (a *attempt) nextID() (string, error) {
	if id := cmp.Or(a.id, a.given()); id != "" {
		owner.Uses(id)
		return id, nil
	}
	return newID(a.mutex.settings.label)
}

// doubt takes note of an acquire whose outcome is not known.
func (a *attempt) doubt(id string) {
	if a.given() != "" {
		a.stray = true
		return
	}
	a.id, a.gaveUp = id, time.Now()
	a.until = a.gaveUp.Add(a.mutex.settings.ttl + operationLimit)
}

// hopeless reports whether asking again after err is of no use.
func (a *attempt) hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || a.stray || !repeatable(err) ||
		errors.Is(err, errLate) && a.given() != "" || // its clean-up is under way, and would be found
		broken(err) && !a.mutex.client.store.source.Met() ||
		a.mutex.client.store.misled(err)
}

// twice asks, and once again after a network error.
func (a *attempt) twice(ctx context.Context) (*Lease, error) {
	lease, held, err := a.ask(ctx)
	if broken(err) && !a.hopeless(ctx, err) {
		a.mutex.client.stats.retried()
		lease, held, err = a.ask(ctx)
	}
	switch {
	case lease != nil:
		return lease, nil
	case held != nil:
		return nil, held
	}
	return nil, a.fail(err)
}

// fail returns the error of an attempt that is given up.
func (a *attempt) fail(err error) error {
	doubt := a.id != "" || a.stray
	a.settle()
	op := "acquire"
	if a.from != "" && !a.force {
		op = "adopt"
	}
	if errors.Is(err, errNobody) {
		err = ErrNotHeld
	}
	err = explain(op, a.mutex.name, err)
	if doubt && !errors.Is(err, ErrUnknown) {
		err = errors.Join(err, ErrUnknown)
	}
	return err
}

// again deals with an acquire in doubt that was not found when it was repeated: it is lost, or will be
// executed yet.
func (a *attempt) again() {
	due := time.Now().Add(operationLimit)
	a.mutex.client.janitor.release(a.inDoubt(), due, a.until, a.gaveUp)
	a.id = ""
}

// inDoubt returns what the acquire in doubt may have taken.
func (a *attempt) inDoubt() lockRef {
	ref := lockRef{name: a.mutex.name, id: a.id, signalTTL: a.mutex.settings.signalTTL}
	if a.pool != nil {
		ref.pool, ref.anyOf = a.mutex.name, a.pool.asked
	}
	return ref
}

// settle has an acquire cleaned up that is still in doubt when its call ends: at once, behind it on
// the same connection if that lives, and again later.
func (a *attempt) settle() {
	if a.id == "" {
		return
	}
	a.mutex.client.janitor.release(a.inDoubt(), time.Now(), a.until, a.gaveUp)
	a.id = ""
}

// repeatable reports whether an acquire that ended with err may work if it is tried again.
func repeatable(err error) bool {
	switch {
	case errors.Is(err, errLate):
		return true
	case errors.Is(err, ErrClosed), errors.Is(err, redisconn.ErrClosed), errors.Is(err, errReply),
		errors.Is(err, ErrAlreadyHeld), errors.Is(err, errNobody), errors.Is(err, bridge.ErrNoMembers),
		errors.Is(err, ErrInvalid):
		return false
	}
	return redisconn.Classify(err) != redisconn.Permanent
}

// broken reports whether err came from the way to Redis, and not from Redis.
func broken(err error) bool {
	if err == nil {
		return false
	}
	var e *redisconn.Error
	return errors.As(err, &e) && !refused(err) && !errors.Is(err, errReply)
}

// grant makes the lease of a lock that Redis granted to an acquire that was sent after before.
func (c *Client) grant(h *hold, before time.Time) (*Lease, error) {
	s := &h.settings
	h.cuts.longest = s.ttl
	c.stats.acquired()
	term, err := c.leases.Add(h, renewal.Config{
		TTL:       s.ttl,
		Margin:    s.marginFor(s.ttl),
		Sent:      renewal.At(before),
		NoRenewal: s.noRenewal,
		NoExpiry:  s.noExpiry,
		MaxHold:   s.maxHold,
	})
	if err != nil {
		c.stats.notAcquired()
	}
	switch {
	case errors.Is(err, renewal.ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, errLate
	}
	return newLease(h, term), nil
}
