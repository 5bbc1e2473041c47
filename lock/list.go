package lock

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// List returns an iterator over the locks under the client's prefix that are held and that the
// filter matches. It yields the owner of each lock, without the ID, and with who waits for the
// lock. The zero Filter matches all locks. With Filter.Name alone only locks of holdfast's own ids
// match. To see all locks of some names, set All as well.
//
// List is the dry run of [Client.ResetAll], which with the same filter would reset what List
// yields. List changes nothing in Redis, and each range over the iterator looks anew.
//
// The locks come once each and in no order, as they are found. List looks at the names of all keys
// of the database with SCAN, in batches, twice. The first look is for who waits, before the first
// lock. The second look is for the locks. Owners are read in batches of at most 512, right before
// the first of a batch is yielded.
//
// The waiters are those that their clients told of in the last 5 s. Clients tell once a second. So
// a wait of less than a second may not appear, and one that has ended may appear for 5 s. A lock
// that changes hands meanwhile appears with either owner. A lock that is taken or released
// meanwhile may appear or not. Locks that are free do not appear, even if somebody waits for them.
//
// Each round trip blocks at most for the operation limit of 2 s, and after a network error for
// another one. All of it ends with ctx at the latest. An error is the last pair, with a zero
// Owner. What came before the error is valid. The error Is:
//   - [ErrInvalid] if the filter or the context is not usable. Nothing was sent then.
//   - [ErrClosed] if the client is closed.
//   - [ErrUnknown] if no reply came.
//   - the context's error if ctx ended.
//
// The loop's body may take its time, leave with break, and call anything, Close too. Nothing is
// under way while the body runs. If the body closed the client or ended ctx, that error comes after
// it.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[Owner, error] {
	return func(yield func(Owner, error) bool) {
		err := c.checkFilter(f)
		if err == nil {
			err = c.list(ctx, f, func(o Owner) bool { return yield(o, nil) })
		}
		if err != nil {
			yield(Owner{}, err)
		}
	}
}

// list yields the locks until there are no more, or yield has had enough. Then it
// returns nil.
func (c *Client) list(ctx context.Context, f Filter, yield func(Owner) bool) error {
	fail := func(err error) error { return engine.Explain("list all under", c.store.Prefix, err) }
	waiters, err := c.waiters(ctx)
	if err != nil {
		return fail(err)
	}
	seen := make(map[string]bool)
	for owners, err := range c.matches(ctx, f) {
		if err != nil {
			return fail(err)
		}
		for _, o := range owners {
			if seen[o.Name] {
				continue
			}
			seen[o.Name] = true
			o.ID, o.Waiters = "", waiters[o.Name]
			if !yield(o) {
				return nil
			}
			if err := c.ended(ctx); err != nil {
				return fail(err)
			}
		}
	}
	return nil
}

// ended returns why a call cannot go on after user code ran in the midst of it. The rest of a batch
// needs no Redis, which would say so.
func (c *Client) ended(ctx context.Context) error {
	select {
	case <-c.engine.Closing():
		return ErrClosed
	default:
		return ctx.Err()
	}
}

// registerBatch bounds the registers that are read together. Redis may execute all of a batch
// before it turns to others, and a register can have many names.
const registerBatch = 32

// waiters returns who waits for which lock.
func (c *Client) waiters(ctx context.Context) (map[string][]WaitInfo, error) {
	all := make(map[string][]WaitInfo)
	seen := make(map[string]bool)
	for keys, err := range c.pages(ctx, c.store.Registers()) {
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(keys, func(key string) bool {
			_, _, ours := c.store.RegisterOf(key)
			again := seen[key]
			seen[key] = true
			return !ours || again
		})
		for batch := range slices.Chunk(keys, registerBatch) {
			if err := c.addWaiters(ctx, batch, all); err != nil {
				return nil, err
			}
		}
	}
	for name, infos := range all {
		all[name] = oncePerClient(infos)
	}
	return all, nil
}

// oncePerClient sorts the entries and leaves one for each client. A client has a register for each
// of its wait connections. A name that moved from one to another is in both for a while, and the
// highest count is taken.
func oncePerClient(infos []WaitInfo) []WaitInfo {
	slices.SortFunc(infos, func(a, b WaitInfo) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Client, b.Client),
			cmp.Compare(b.Count, a.Count))
	})
	return slices.CompactFunc(infos, func(a, b WaitInfo) bool {
		return a.Label == b.Label && a.Client == b.Client
	})
}

// addWaiters adds what the registers with these keys say.
func (c *Client) addWaiters(ctx context.Context, keys []string, all map[string][]WaitInfo) error {
	var counts []map[string]int
	err := c.engine.Step(ctx, func() (err error) {
		counts, err = c.store.WaitCounts(ctx, keys)
		return err
	})
	if err != nil {
		return err
	}
	for i, key := range keys {
		label, client, _ := c.store.RegisterOf(key)
		for name, n := range counts[i] {
			all[name] = append(all[name], WaitInfo{label, client, n})
		}
	}
	return nil
}
