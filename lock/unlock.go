package lock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// Unlock ends the lease and releases the lock, which wakes one waiter. The lease's context ends
// before anything is sent, and no renewal of it is written after Unlock returned. If the lock was taken
// with HoldAtLeast and that is not over, nobody gets the lock before it is: Redis keeps the key until
// then, and the process may end.
//
// It works when ctx has ended, and blocks at most two operation limits of 2 s. It may be called
// repeatedly and concurrently: every call gets the first one's result.
//
// nil: the lock was released. An error that Is [ErrNotHeld] and [ErrLost]: the lease had ended
// before. [ErrUnknown]: it is not known whether it was released, or expired before it could be, or
// whether nobody got it before its minimum was over; the client goes on trying in the background until
// the key must have expired or the client is closed. A client that lives also undoes, for two minutes, what
// an acquire of this lease that had to be repeated takes late. Any other error: Redis refuses, or the client was
// closed before, and the key expires with its TTL, if it has one.
func (l *Lease) Unlock(ctx context.Context) error {
	l.held() // panics if there is none
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	return l.unlock(func(h *hold) error {
		deadline := time.Now().Add(2 * operationLimit)
		return h.release(h.term.End(ErrReleased), deadline)
	})
}

// finish is Unlock for Do. If the lease has ended before, the lock is released in the background: the job
// was told, and its caller is not to wait for a Redis that hangs.
func (l *Lease) finish() error {
	return l.unlock(func(h *hold) error {
		deadline := time.Now().Add(2 * operationLimit)
		if h.term.Err() == nil && h.term.End(ErrReleased) {
			return h.release(true, deadline)
		}
		h.tidy(h.ref(false), time.Now(), answer{err: errGone})
		return h.notHeld(lost(h.name, h.term.Err()))
	})
}

// unlock has the first of all calls end the lease, and gives every one the result.
func (l *Lease) unlock(end func(*hold) error) error {
	l.cleanup.Stop()
	h := l.held()
	if h.client.releases.enter() { // before the claim, so that Close waits for whoever has that
		defer h.client.releases.leave()
	}
	u, first := h.claim()
	if !first {
		<-u.done
		return u.err
	}
	err := end(h)
	h.unlocked(u, err)
	runtime.KeepAlive(l)
	return err
}

// claim returns the unlocking, and whether it is the caller who does it.
func (h *hold) claim() (u *unlocking, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unlock != nil {
		return h.unlock, false
	}
	h.unlock = &unlocking{done: make(chan struct{})}
	return h.unlock, true
}

// unlocked tells everybody the result.
func (h *hold) unlocked(u *unlocking, err error) {
	h.mu.Lock()
	u.err, u.over = err, true
	lost := u.lost
	h.mu.Unlock()
	close(u.done)
	if lost != nil {
		tell(h.client.hooks.Lost, LostInfo{h.name, lost})
	}
	tell(h.client.hooks.Released, ReleasedInfo{h.name, err})
}

// release sends the release, twice at most, and is back by the deadline. held says that the lease
// was valid when it was ended.
func (h *hold) release(held bool, deadline time.Time) error {
	s := h.client.store
	ref, began := h.ref(held), time.Now()
	a := answer{held: held, ended: h.term.Err()}
	a.found, a.err = s.release(context.Background(), limitFromNow(), ref)
	// A demoted master answers READONLY, and the line gives its connection up: the next one may be to
	// the right server.
	if broken(a.err) || refused(a.err) && redisconn.Classify(a.err) == redisconn.Moved {
		a.doubt = sent(a.err)
		until := h.term.Until()
		a.inTime = until.IsZero() || time.Now().Before(until)
		began = time.Now()
		again := limitFromNow()
		if deadline.Before(again) {
			again = deadline
		}
		h.client.stats.retried()
		a.found, a.err = s.release(context.Background(), again, ref)
	}
	if a.found == wasHeld {
		h.client.janitor.repair(ref, time.Since(began))
	}
	return h.result(ref, a)
}

// ref returns how the lock is to be released: if its lease was held to the end, not before its minimum
// is over.
func (h *hold) ref(held bool) lockRef {
	ref := lockRef{
		name: h.name, id: h.id, fence: h.fence, noExpiry: h.settings.noExpiry,
		signalTTL: h.settings.signalTTL,
		pool:      h.pool, member: h.member,
	}
	if keep := h.since.Add(h.settings.atLeast + time.Duration(h.late.Load())); held && time.Until(keep) > 0 {
		ref.keep = keep
	}
	return ref
}

// An answer is what came of a release.
type answer struct {
	held   bool  // the lease was valid when it was ended
	ended  error // why it ended
	found  released
	doubt  bool // an earlier one may have been executed
	inTime bool // and if so, before the key could have expired
	err    error
}

// result turns the answer to a release, as ref says, into Unlock's.
func (h *hold) result(ref lockRef, a answer) error {
	err := a.err
	retry := err != nil && (repeatable(err) || a.doubt || errors.Is(err, errReply))
	var again time.Time
	if retry {
		again = time.Now().Add(retryEvery)
	}
	h.tidy(ref, again, a)
	if err != nil && !retry && h.settings.noExpiry {
		h.client.janitor.expire(h.ref(false)) // else it would be held for ever
	}
	switch {
	case !a.held:
		return h.notHeld(lost(h.name, a.ended))
	case retry:
		return fmt.Errorf("lock: unlock %q: %w; it is tried again in the background: %w",
			h.name, ErrUnknown, err)
	case err != nil && redisconn.HasCode(err, "WRONGTYPE"):
		return h.foundLost(explain("unlock", h.name, err))
	case err != nil:
		return explain("unlock", h.name, err)
	case a.found == wasHeld:
		return nil
	case a.found == handedOn: // before any of the releases came
		return h.foundLost(errGone)
	case a.doubt && ref.keep.IsZero() && a.inTime: // it was ours at the first attempt, which then did it
		return nil
	case a.doubt && time.Until(ref.keep) <= 0: // it is not ours, but perhaps it has expired
		return fmt.Errorf("lock: unlock %q: %w: whether it was released before it expired was not told",
			h.name, ErrUnknown)
	}
	return h.foundLost(errGone)
}

// foundLost takes note that the release found the lock lost, which Hooks.Lost has not been told yet,
// and returns what Unlock says.
func (h *hold) foundLost(cause error) error {
	err := &LostError{h.name, cause}
	h.mu.Lock()
	h.unlock.lost = err
	h.mu.Unlock()
	h.client.stats.lost()
	return h.notHeld(err)
}

// mayBeOvertaken reports whether an earlier acquire of the lease's id may be executed yet. Its
// connection was closed before the repeat, which then was granted.
func (h *hold) mayBeOvertaken(now time.Time) bool {
	return h.twice && now.Sub(h.since) < lateLimit
}

// tidy has the lock released in the background: from a time on until Redis answers (zero: not at all),
// once more after an operation limit if an earlier release may be executed yet, and again and again if
// an earlier acquire may. a is what is known of the lock by then.
func (h *hold) tidy(ref lockRef, from time.Time, a answer) {
	now := time.Now()
	until := now.Add(h.cuts.most() + operationLimit)
	if h.settings.noExpiry {
		until = now.Add(forEver)
	}
	j := h.client.janitor
	if !from.IsZero() {
		j.add(ref, from, until)
	}
	switch {
	case h.mayBeOvertaken(now):
		// An acquire that is executed now draws a later token for this very id. But so does who adopts
		// the lock and keeps the id: that one must not be hit, so Redis must have told that nobody has.
		// After that nobody can: the id is nowhere, and was never given to anybody by the late acquire.
		if a.err == nil && a.found != handedOn {
			ref.fence = 0
		}
		due, _ := nextVisit(j.began, h.since, now)
		j.release(ref, due, until, h.since)
	case a.doubt:
		j.add(ref, now.Add(operationLimit), until)
	}
}

// giveBack releases a lock that was granted, but whose lease was over by then.
func (h *hold) giveBack() {
	now := time.Now()
	j, until := h.client.janitor, now.Add(h.settings.ttl)
	if h.mayBeOvertaken(now) {
		j.release(h.ref(false), now, until, now)
		return
	}
	j.add(h.ref(false), now, until)
}

// errGone is why a lease turns out lost that was believed in.
var errGone = errors.New("the lock is somebody else's or nobody's, says Redis")

// notHeld returns what Unlock says of a lease that had ended.
func (h *hold) notHeld(cause error) error {
	return fmt.Errorf("lock: unlock %q: %w: %w", h.name, ErrNotHeld, cause)
}
