package lock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// Owner returns who holds the lock of this name, and for how long. The error Is [ErrNotHeld] if
// nobody does. It blocks for one round trip, after a network error for a second one, at most for two
// operation limits of 2 s and no longer than until ctx ends.
func (c *Client) Owner(ctx context.Context, name string) (Owner, error) {
	var held *taken
	err := c.call(ctx, "ask for the owner of", name, func() (err error) {
		held, err = c.store.owner(ctx, name)
		return err
	})
	switch {
	case err != nil:
		return Owner{}, err
	case held == nil:
		return Owner{}, fmt.Errorf("lock %q: %w", name, ErrNotHeld)
	}
	return parseOwner(name, held.owner, held.pttl), nil
}

// Reset gives the lock of this name up whoever holds it, and wakes one waiter. It returns whether it
// was held and by whom, without the ID. A holder that renews its lease is told at its next renewal,
// any other when its lease ends: until then there can be two.
//
// It asks who holds the lock, and takes it from that one; if it has changed hands meanwhile, again, for
// one operation limit of 2 s at most, after which the error Is [ErrHeld]. Each of the two steps blocks as
// [Client.Owner] does. The error Is [ErrUnknown] if Redis may have done it without telling. It Is
// [ErrWrongType], and nothing is changed, if the key is not a lock.
func (c *Client) Reset(ctx context.Context, name string) (was Owner, held bool, err error) {
	began := time.Now()
	for {
		seen, err := c.resetOnce(ctx, name)
		switch {
		case errors.Is(err, errChanged) && time.Since(began) < operationLimit:
		case errors.Is(err, errChanged):
			return Owner{}, false, fmt.Errorf("%w: %w", err, ErrHeld)
		case err != nil || seen == nil:
			return Owner{}, false, err
		default:
			return parseOwner(name, seen.owner, seen.pttl).anonymous(), true, nil
		}
	}
}

// resetOnce takes the lock from whoever holds it at the moment, and from nobody else, so that what is
// executed late takes it from nobody. It returns who that was, nil for nobody.
func (c *Client) resetOnce(ctx context.Context, name string) (seen *taken, err error) {
	err = c.call(ctx, "reset", name, func() (err error) {
		seen, err = c.store.owner(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	doubt := false
	var before *taken
	err = c.call(ctx, "reset", name, func() (err error) {
		before, err = c.store.reset(ctx, name, seen)
		doubt = doubt || sent(err)
		return err
	})
	switch {
	case doubt && (err == nil || errors.Is(err, errChanged)):
		return seen, nil // by the first of the two, if not by its holder
	case before != nil:
		return before, nil
	case err == nil:
		return nil, nil // it was free by then, if not before
	}
	return seen, err
}

// call does something with a lock that may be done again after a network error.
func (c *Client) call(ctx context.Context, op, name string, do func() error) error {
	if err := c.checkName(name); err != nil {
		return err
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.calls.leave()
	if err := c.twice(ctx, do); err != nil {
		return explain(op, name, err)
	}
	return nil
}

// step is one round trip of a call that takes many. The client is entered for that time only: Close
// need not wait for the rest of the call, and what runs between two round trips may be user code.
func (c *Client) step(ctx context.Context, do func() error) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.calls.leave()
	return c.twice(ctx, do)
}

// twice does something, and once again after a network error.
func (c *Client) twice(ctx context.Context, do func() error) error {
	err := do()
	if err != nil && broken(err) && ctx.Err() == nil && c.store.source.Met() {
		c.stats.retried()
		return repeated(err, do())
	}
	return err
}

// ResetAll gives up all locks under the client's prefix that the filter matches, and wakes their
// waiters. It returns whom it took them from, without the IDs, also together with an error, after
// which it may be called again. It looks at every key of the database with SCAN, in batches, and
// never changes a key that is not a lock; of each lock it resets only the very value that the filter
// judged, so a lock that changes hands meanwhile stays.
//
// Each round trip blocks at most for the operation limit of 2 s, the whole until ctx ends or the
// client is closed, which makes the error [ErrClosed]. It Is [ErrInvalid] if the filter is not usable;
// then nothing was sent. [Client.List] with the same filter is the dry run.
func (c *Client) ResetAll(ctx context.Context, f Filter) ([]Owner, error) {
	if err := c.checkFilter(f); err != nil {
		return nil, err
	}
	if f.empty() {
		return nil, invalid("the filter is empty: say which locks to reset, or set All")
	}
	var reset []Owner
	for owners, err := range c.matches(ctx, f) {
		if err == nil {
			reset, err = c.resetThese(ctx, owners, reset)
		}
		if err != nil {
			return reset, explain("reset all under", c.store.prefix, err)
		}
	}
	return reset, nil
}

// checkFilter refuses filters that this client can do nothing with.
func (c *Client) checkFilter(f Filter) error {
	if c.missing() {
		return errNoClient
	}
	if f.All && !c.store.apart() {
		return invalid("the filter has All, and the KeyFormat does not tell locks from other keys:" +
			" use another field, which matches only what holdfast wrote")
	}
	return f.check()
}

// matches returns the locks that the filter matches, in batches, each as it was right before. A lock
// can come twice. An error is the end.
func (c *Client) matches(ctx context.Context, f Filter) iter.Seq2[[]Owner, error] {
	return func(yield func([]Owner, error) bool) {
		for keys, err := range c.pages(ctx, c.store.locks(f.Name)) {
			if err != nil {
				yield(nil, err)
				return
			}
			for batch := range slices.Chunk(keys, batchSize) {
				owners, err := c.matching(ctx, f, batch)
				if !yield(owners, err) || err != nil {
					return
				}
			}
		}
	}
}

// pages returns the keys of a scan. A key can come twice. An error is the end.
func (c *Client) pages(ctx context.Context, like keysLike) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for cursor := "0"; ; {
			var keys []string
			var next string
			err := c.step(ctx, func() (err error) {
				keys, next, err = c.store.scan(ctx, cursor, like)
				return err
			})
			if !yield(keys, err) || err != nil || next == "0" {
				return
			}
			cursor = next
		}
	}
}

// matching returns the owners of those locks, given by their keys, that the filter matches.
func (c *Client) matching(ctx context.Context, f Filter, keys []string) ([]Owner, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = c.store.name(key)
	}
	var held []*taken
	err := c.step(ctx, func() (err error) {
		held, err = c.store.owners(ctx, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var matched []Owner
	for i, t := range held {
		if t == nil || t.foreign { // it became something else since the scan
			continue
		}
		o := parseOwner(names[i], t.owner, t.pttl)
		// Without a beginning of its own any string may be there; with another one, holdfast's other keys.
		ours := (c.store.apart() || o.ours()) && !c.store.collides(names[i])
		if ours && f.match(o, now) {
			matched = append(matched, o)
		}
	}
	return matched, nil
}

// resetThese releases the locks under the ids that their owners have, and appends those that were
// held under them still.
func (c *Client) resetThese(ctx context.Context, owners, reset []Owner) ([]Owner, error) {
	if len(owners) == 0 {
		return reset, nil
	}
	if err := c.enter(ctx); err != nil {
		return reset, err
	}
	defer c.calls.leave()
	refs := make([]lockRef, len(owners))
	for i, o := range owners {
		refs[i] = lockRef{name: o.Name, id: o.ID}
	}
	found, errs := c.store.releaseAll(ctx, limitFromNow(), refs)
	for i, o := range owners {
		if found[i] == wasHeld {
			reset = append(reset, o.anonymous())
		}
	}
	return reset, firstOf(errs)
}

// firstOf returns the first error that is one.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A Filter says which locks [Client.ResetAll] resets and [Client.List] lists: those to which every
// field applies that is set. With none, List lists all locks, whatever they hold, and ResetAll
// refuses to reset.
//
// With any field but All, only locks match that a process of holdfast holds: those whose value is a
// label and a ULID. Those under an id of somebody's own, of python-redis-lock and others do not match, nor do those that were
// released and are only kept until their minimum is over (Options.HoldAtLeast): their holder ended
// well, and a clean-up after others must not cut the minimum short.
type Filter struct {
	// Label matches the label of the owner, whole: of who took the lock, also if it was detached, or adopted
	// with KeepID since. With a label that only one process uses at a time
	// this is the clean-up of what its earlier incarnation left.
	Label string

	// Host matches owners with a default label, hostname:pid, of this host. It does not ask whether
	// they live: it resets the locks of running processes too.
	Host string

	// DeadHere matches owners with a default label, hostname:pid, whose host is this one and whose
	// process is gone, or began only after the lock was taken. It needs OnePIDNamespace, and a system
	// that tells about processes (Unix).
	//
	// That another process has the old one's id is noticed on Linux only, and only if it began at least 5 s
	// after the lock was taken: clocks are stepped. If it is this very process, as in containers, where the id
	// is always 1, it is noticed everywhere and at once.
	DeadHere bool

	// OnePIDNamespace states that all processes that take locks under this hostname see each other's
	// process ids. Containers of one pod, or containers on the host's network, have one hostname and
	// do not: there DeadHere would take the living for dead.
	OnePIDNamespace bool

	// Name matches the lock's name: * stands for any bytes, ? for one, all else for itself.
	Name string

	// OlderThan matches locks that were taken at least so long ago, by the owner's clock.
	OlderThan time.Duration

	// All matches whatever is there, other programs' locks and kept ones included, as long as the value
	// has at most 1 KiB: a longer one is no lock's id, and [Client.Reset] is there for it. List leaves
	// it out as well then, since it lists what ResetAll would reset. Of the other fields only Name goes
	// with All.
	All bool
}

// narrows reports whether a field is set that looks at the owner.
func (f Filter) narrows() bool {
	return f.Label != "" || f.Host != "" || f.DeadHere || f.OlderThan != 0
}

// empty reports whether no field is set that says which locks.
func (f Filter) empty() bool { return !f.All && !f.narrows() && f.Name == "" }

// check refuses filters that nothing can be done with.
func (f Filter) check() error {
	switch {
	case f.All && f.narrows():
		return invalid("the filter has All together with a field that narrows it: choose one")
	case f.OlderThan < 0:
		return invalid("the filter's OlderThan %v is negative: give an age", f.OlderThan)
	case f.DeadHere && !f.OnePIDNamespace:
		return invalid("the filter's DeadHere needs OnePIDNamespace: set it if all processes under this" +
			" hostname see each other's process ids, else use Label")
	case f.DeadHere && !owner.CanTellDead:
		return invalid("the filter's DeadHere does not work on this system: use Label")
	case !utf8.ValidString(f.Name) || len(f.Name) > maxName:
		return invalid("the filter's Name is not valid UTF-8 of at most %d bytes", maxName)
	}
	return nil
}

// match reports whether the filter applies to an owner, except for the name.
func (f Filter) match(o Owner, now time.Time) bool {
	switch {
	case f.All:
		return len(o.ID) <= maxValue
	case f.empty():
		return true
	case !o.ours() || o.Kept:
		return false
	case f.Label != "" && o.Label != f.Label:
		return false
	case f.Host != "" && o.Host != f.Host:
		return false
	case f.OlderThan > 0 && now.Sub(o.Since) < f.OlderThan:
		return false
	case f.DeadHere:
		return o.Host == owner.Hostname() && owner.Gone(o.PID, o.Since)
	}
	return true
}

// maxValue is how long an owner id may be that is reset by its value. Redis is asked for one byte
// more.
const maxValue = 1024
