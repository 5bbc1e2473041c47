package lock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Shutdown refuses new calls, returns [ErrClosed] to waiters, and waits until the functions that Do
// runs have returned or ctx ends; meanwhile their leases are renewed. Then it closes the client as
// [Client.Close] does. It returns ctx.Err() if functions were still running. A function that Do runs
// must not call it with a context that does not end: it would wait for itself.
func (c *Client) Shutdown(ctx context.Context) error {
	if c.missing() {
		return engine.ErrNoClient
	}
	if ctx == nil {
		return engine.Invalid("the context is nil: pass context.Background()")
	}
	return c.engine.Shutdown(ctx)
}

// Close ends everything that the client does: new calls and waiters get [ErrClosed], consumed
// signals are given back, renewing stops, and every lease ends (its error Is [ErrLost] and
// [ErrClosed]). Held locks are released when the margin of their lease has passed, which is the time
// that jobs have to stop, unless Options.KeepOnClose is set. A lease that Do uses is released when
// its function returns; if that takes longer than Close it is left to expire.
//
// A call of Lock that has been granted the lock but has not returned yet gets [ErrClosed], and its lock
// is released. What calls that were given up may have taken is released once more; that Close does not
// come back for what Redis executes later, after a cut of the network. Such a lock is held for its TTL.
//
// It blocks at most for the longest margin of a held lease and one operation limit of 2 s; without
// held leases, one round trip. After it no goroutine and no connection is left, except that the
// Dial of a [redis.Pool] which hangs cannot be hurried: its connection is closed when it comes. Close
// returns nil, also when it is called again. It must not be called by a hook, and a function that Do runs
// should leave it to others: Close waits for it.
func (c *Client) Close() error {
	if c.missing() {
		return engine.ErrNoClient
	}
	c.engine.Close()
	return nil
}
