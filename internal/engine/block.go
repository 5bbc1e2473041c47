package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Block keeps everybody from the lock of a name for d: lock.Client.Block says how. It is a call of
// its own.
//
// Calls about one name take turns. Each looks at the janitor's list to find whether what is there
// is ours, and changes the list when it is done. Between the two no other call of this engine may
// put something else there.
func (e *Engine) Block(ctx context.Context, name, label string, d time.Duration) error {
	if err := e.Enter(ctx); err != nil {
		return err
	}
	defer e.Leave()
	if err := e.blocking.enter(ctx, name); err != nil {
		return Explain("block", name, err)
	}
	defer e.blocking.leave(name)
	b, err := e.block(name, label, d)
	if err != nil {
		return err
	}
	for {
		held, err := b.once(ctx)
		switch {
		case err == nil && held == nil:
			b.began(ctx)
			return nil
		case errors.Is(err, ErrUnknown) && b.from != "":
			b.signalAtEnd() // or at the end that it had before, which is not forgotten
			return err
		case errors.Is(err, store.ErrNobody) && time.Since(b.since) < store.OperationLimit:
			b.from = "" // it has ended meanwhile
		case err != nil:
			return err
		case !e.janitor.Blocks(name, held.Owner) || time.Since(b.since) > store.OperationLimit:
			return e.words.Held(name, held)
		default:
			b.from = held.Owner
		}
	}
}

// A block is one call of Block, and belongs to its goroutine. What it puts there is its id with an
// ending, which no release matches.
type block struct {
	engine *Engine
	name   string
	label  string
	length time.Duration
	since  time.Time

	id       string
	from     string // of what is there, if that is a Block of ours; "": it must be free
	repeated bool   // an attempt before the last one is in doubt
}

// block returns a new block with a fresh id. It does no input or output.
func (e *Engine) block(name, label string, d time.Duration) (*block, error) {
	id, err := NewID(label)
	return &block{engine: e, name: name, label: label, length: d, since: time.Now(), id: id}, err
}

// lock returns the lock as held under an id, to be seen to in the background.
func (b *block) lock(id string) store.Lock { return b.engine.store.Lock(b.name, id) }

// signalAtEnd gives a signal when the block is over that begins now.
func (b *block) signalAtEnd() {
	b.engine.janitor.BlockUntil(b.lock(b.id), janitor.Blocked{Name: b.name, ID: b.id}, time.Now().Add(b.length))
}

// began takes note that the lock is blocked.
func (b *block) began(ctx context.Context) {
	b.engine.janitor.ForgetBlocks(b.name)
	b.signalAtEnd()
	if b.repeated && b.from == "" {
		limit, cancel := context.WithDeadline(ctx, b.since.Add(2*store.OperationLimit))
		defer cancel()
		b.rename(limit)
	}
}

// acquire blocks a lock that is free, or held as b says. It returns who holds it, nil if it is
// blocked. It compares and sets, so a repeat under the same id changes nothing that the first one
// did.
func (b *block) acquire(ctx context.Context) (*store.Held, error) {
	got, err := b.engine.store.Acquire(ctx, store.LimitFromNow(), store.Acquisition{
		Name: b.name, ID: b.id + owner.KeptSuffix, TTL: b.length, NoFence: true, Must: b.from,
	})
	return got.Held, err
}

// once is acquire, and once again after a network error. What is in doubt after that is cleaned up,
// unless the lock was blocked before.
func (b *block) once(ctx context.Context) (held *store.Held, err error) {
	b.repeated = false
	err = b.engine.Call(ctx, "block", b.name, func() (err error) { // which Close refuses
		held, err = b.acquire(ctx)
		b.repeated = b.repeated || store.Sent(err)
		return err
	})
	if !b.repeated || err == nil && held == nil {
		return held, err
	}
	if b.from == "" {
		b.undo(b.id, time.Now())
	}
	if err == nil {
		err = b.engine.words.Held(b.name, held)
	}
	if !errors.Is(err, ErrUnknown) {
		err = errors.Join(err, ErrUnknown)
	}
	return nil, err
}

// undo has a block under an id undone from due on that may be executed late. An id that is undone
// must not be the one that blocks: see rename.
func (b *block) undo(id string, due time.Time) {
	now := time.Now()
	t := janitor.Task{What: b.lock(id + owner.KeptSuffix), Due: due, Until: now.Add(b.length + store.OperationLimit)}
	b.engine.janitor.AddLate(t, now)
}

// rename gives a block another id whose first attempt was in doubt and may be executed late: after
// a Reset it would block the lock once more. Under an id that the block does not have any more it
// is undone. If Redis does not answer, the block stays as it is.
func (b *block) rename(ctx context.Context) {
	id, err := NewID(b.label)
	if err != nil {
		return
	}
	was := b.id
	b.from, b.id = was+owner.KeptSuffix, id
	held, err := b.acquire(ctx)
	if err == nil && held == nil || store.Sent(err) {
		b.signalAtEnd()
	}
	if err == nil && held == nil {
		b.undo(was, time.Now().Add(store.OperationLimit))
	}
}
