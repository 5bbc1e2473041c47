package lock

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/renewal"
)

// errLate is why a lock that Redis granted is not taken: its lease was over when the reply came.
var errLate = errors.New("the reply came after the lease's end")

// An attempt is what one call of Lock or TryLock asks of Redis. It keeps the id of an acquire whose
// outcome is not known: that one is repeated under the same id, which Redis then finds or does not
// find; every other acquire has a fresh one.
type attempt struct {
	mutex *Mutex
	since time.Time // when Lock or TryLock was called
	id    string    // of the acquire in doubt; "" if there is none
	until time.Time // when the acquire in doubt has expired, if it was executed
}

// ask sends one acquire. It returns a lease, or who holds the lock, or the error. It blocks until
// ctx ends, at most for the operation limit.
func (a *attempt) ask(ctx context.Context) (*Lease, *HeldError, error) {
	m := a.mutex
	id, doubt := a.id, a.id != ""
	if !doubt {
		var err error
		if id, err = newID(m.settings.label); err != nil {
			return nil, nil, err
		}
	}
	fence, held, before, err := m.client.store.acquire(ctx, m.name, id, m.settings.ttl)
	switch {
	case err != nil:
		if sent(err) || errors.Is(err, errReply) {
			a.id, a.until = id, time.Now().Add(m.settings.ttl+operationLimit)
		}
		return nil, nil, err
	case held != nil:
		if doubt {
			a.again()
		}
		return nil, m.heldError(held), nil
	}
	a.id = ""
	lease, err := m.client.grant(m, id, fence, before, doubt)
	if err != nil {
		m.client.janitor.add(lockRef{m.name, id}, time.Now(), time.Now().Add(m.settings.ttl))
		return nil, nil, err
	}
	tell(m.client.hooks.Acquired, AcquiredInfo{
		Name: m.name, Label: m.settings.label, Fence: fence,
		Waited: time.Since(a.since), Until: lease.Deadline(),
	})
	return lease, nil, nil
}

// again deals with an acquire in doubt that was not found when it was repeated: it is lost, or so
// late that it will be executed yet. Its connection is closed, so that happens within the operation
// limit, or never.
func (a *attempt) again() {
	c := a.mutex.client
	c.janitor.add(lockRef{a.mutex.name, a.id}, time.Now().Add(operationLimit), a.until)
	a.id = ""
}

// settle has an acquire cleaned up that is still in doubt when its call ends: at once, behind it on
// the same connection if that lives, and once more later.
func (a *attempt) settle() {
	if a.id == "" {
		return
	}
	a.mutex.client.janitor.addTwice(lockRef{a.mutex.name, a.id}, a.until)
	a.id = ""
}

// repeatable reports whether an acquire that ended with err may work if it is tried again.
func repeatable(err error) bool {
	switch {
	case errors.Is(err, errLate):
		return true
	case errors.Is(err, ErrClosed), errors.Is(err, redisconn.ErrClosed), errors.Is(err, errReply):
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
	return errors.As(err, &e) && !refused(err)
}

// grant makes the lease of a lock that Redis granted. doubt says that the acquire was a repeat, so
// that a first one may be executed late.
func (c *Client) grant(m *Mutex, id string, fence int64, before time.Time, doubt bool) (*Lease, error) {
	h := &hold{
		client: c, name: m.name, id: id, fence: fence,
		settings: m.settings, twice: doubt,
	}
	h.longest.Store(int64(m.settings.ttl))
	term, err := c.leases.Add(renewal.Config{
		TTL:       m.settings.ttl,
		Margin:    m.settings.marginFor(m.settings.ttl),
		Sent:      renewal.At(before),
		NoRenewal: m.settings.noRenewal,
		Data:      h,
	})
	switch {
	case errors.Is(err, renewal.ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, errLate
	}
	return newLease(h, term), nil
}
