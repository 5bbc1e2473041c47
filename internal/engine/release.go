package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Release ends the lease and gives back what it holds: lock.Lease.Unlock says how. It blocks at
// most for two operation limits.
func (l *Lease) Release() error {
	return l.releaseOnce(func() error {
		limit := time.Now().Add(2 * store.OperationLimit)
		return l.send(l.term.End(ErrReleased), limit)
	})
}

// Finish is Release for Do. If the lease has ended before, it is given back in the background: the
// job was told, and its caller is not to wait for a Redis that hangs.
func (l *Lease) Finish() error {
	return l.releaseOnce(func() error {
		limit := time.Now().Add(2 * store.OperationLimit)
		if l.term.Err() == nil && l.term.End(ErrReleased) {
			return l.send(true, limit)
		}
		l.tidy(l.task(false), time.Now(), answer{err: errGone})
		return l.notHeld(l.Err())
	})
}

// releaseOnce has the first of all calls end the lease, and gives every one the result. The others
// block as long as the first one does, which is two operation limits at most.
//
// A call that comes when Close has shut the gate goes on all the same. Nobody waits for it then.
// Once the connections are cut it fails at once.
func (l *Lease) releaseOnce(end func() error) error {
	if l.releases.enter() { // before the claim, so that Close waits for whoever has that
		defer l.releases.leave()
	}
	r, first := l.claim()
	if !first {
		<-r.done
		return r.err
	}
	err := end()
	l.released(r, err)
	return err
}

// released tells everybody the result.
func (l *Lease) released(r *release, err error) {
	l.conclude(r, err)
	tell(l.events.Released, Released{l.name, err})
}

// send sends the release, twice at most, and is back by the limit. held says that the lease was
// valid when it was ended.
//
// The term is ended before anything is sent, and so no renewal is written any more. The release
// goes another way than renewals do, and a renewal behind it would be answered "not held".
//
// After a lost reply the second release may find nothing. Then the first one did it, if the key
// could not have expired by then. Whether it could is looked at before the second one is sent.
func (l *Lease) send(held bool, limit time.Time) error {
	t, began := l.task(held), time.Now()
	a := answer{held: held, ended: l.term.Err()}
	a.found, a.err = l.store.Release(context.Background(), store.LimitFromNow(), t.Release())
	// A demoted master answers READONLY, and the line gives its connection up: the next one may be
	// to the right server.
	if store.Broken(a.err) || store.Misplaced(a.err) {
		a.doubt = store.Sent(a.err)
		until := l.term.Until()
		a.inTime = until.IsZero() || time.Now().Before(until)
		began = time.Now()
		again := store.LimitFromNow()
		if limit.Before(again) {
			again = limit
		}
		l.stats.countRetry()
		a.found, a.err = l.store.Release(context.Background(), again, t.Release())
	}
	if a.found == store.WasHeld {
		l.janitor.AtEnd(t, time.Since(began))
	}
	return l.result(t, a)
}

// An answer is what came of a release.
type answer struct {
	held   bool  // the lease was valid when it was ended
	ended  error // why it ended
	found  store.Released
	doubt  bool // an earlier one may have been executed
	inTime bool // and if so, before the key could have expired
	err    error
}

// result turns the answer to a release into what its callers get. Whatever it says, what may be
// left of the holding is given to the janitor first.
func (l *Lease) result(t janitor.Task, a answer) error {
	err := a.err
	retry := err != nil && (repeatable(err) || a.doubt || errors.Is(err, store.ErrReply))
	var again time.Time
	if retry {
		again = time.Now().Add(janitor.RetryEvery)
	}
	l.tidy(t, again, a)
	if err != nil && !retry && l.settings.NoExpiry {
		l.janitor.Expire(l.holding) // else it would be held for ever
	}
	switch {
	case !a.held:
		return l.notHeld(l.lost(a.ended))
	case retry:
		return fmt.Errorf("lock: unlock %q: %w; it is tried again in the background: %w",
			l.name, ErrUnknown, err)
	case err != nil && store.WrongType(err):
		return l.foundLost(Explain("unlock", l.name, err))
	case err != nil:
		return Explain("unlock", l.name, err)
	case a.found == store.WasHeld:
		return nil
	case a.found == store.HandedOn: // before any of the releases came
		return l.foundLost(errGone)
	case a.doubt && t.Keep.IsZero() && a.inTime: // it was ours at the first attempt, which did it
		return nil
	case a.doubt && time.Until(t.Keep) <= 0: // it is not ours, but perhaps it has expired
		return fmt.Errorf("lock: unlock %q: %w: whether it was released before it expired was not told",
			l.name, ErrUnknown)
	}
	return l.foundLost(errGone)
}

// foundLost takes note that the release found the lease lost, which Events.Lost has not been told
// yet, and returns what its callers get. The lease itself ended as released: it was believed in
// until then.
func (l *Lease) foundLost(cause error) error {
	err := l.words.Lost(l.name, cause)
	l.mu.Lock()
	l.release.lost = err
	l.mu.Unlock()
	l.stats.countLoss()
	return l.notHeld(err)
}

// notHeld returns what is said of a lease that had ended.
func (l *Lease) notHeld(cause error) error {
	return fmt.Errorf("lock: unlock %q: %w: %w", l.name, ErrNotHeld, cause)
}

// tidy has the holding released in the background: from a time on until Redis answers (zero: not at
// all), once more after an operation limit if an earlier release may be executed yet, and again and
// again if an earlier acquire may. a is what is known by then.
func (l *Lease) tidy(t janitor.Task, from time.Time, a answer) {
	now := time.Now()
	t.Until = l.until(now)
	if !from.IsZero() {
		t.Due = from
		l.janitor.Add(t)
	}
	switch {
	case l.mayBeOvertaken(now):
		// An acquire that is executed now draws a later token for this very id. But so does who
		// adopts the lock and keeps the id: that one must not be hit, so Redis must have told that
		// nobody has. After that nobody can: the id is nowhere, and was never given to anybody by
		// the late acquire.
		if a.err == nil && a.found != store.HandedOn {
			t.What = t.What.Unfenced()
		}
		t.Due = l.janitor.NextVisit(l.since, now)
		l.janitor.AddLate(t, l.since)
	case a.doubt:
		t.Due = now.Add(store.OperationLimit)
		l.janitor.Add(t)
	}
}

// giveBack releases what was granted to a lease that was over by then, or to which nobody will get
// the lease.
func (l *Lease) giveBack() {
	now := time.Now()
	t := l.task(false)
	t.Due, t.Until = now, now.Add(l.settings.TTL)
	if l.mayBeOvertaken(now) {
		l.janitor.AddLate(t, now)
		return
	}
	l.janitor.Add(t)
}
