package lock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Shutdown waits until the functions that Do runs have returned or ctx ends. Meanwhile it refuses
// new calls, returns [ErrClosed] to waiters, and has the leases of those functions renewed. Then it
// closes the client as [Client.Close] does.
//
// Shutdown returns ctx.Err() if functions were still running. A function that Do runs must not call
// Shutdown with a context that does not end: the function would wait for itself.
func (c *Client) Shutdown(ctx context.Context) error {
	if c.missing() {
		return engine.ErrNoClient
	}
	if ctx == nil {
		return engine.Invalid("the context is nil: pass context.Background()")
	}
	return c.engine.Shutdown(ctx)
}

// Close ends everything that the client does. New calls and waiters get [ErrClosed]. Consumed
// signals are given back. Renewing stops, and every lease ends. The error of such a lease Is
// [ErrLost] and [ErrClosed].
//
// Held locks are released when the margin of their lease has passed, unless Options.KeepOnClose is
// set. The margin is the time that jobs have to stop. A lease that Do uses is released when its
// function returns. If the function takes longer than Close, the lock is left to expire.
//
// A call of Lock that has been granted the lock but has not returned yet gets [ErrClosed], and its
// lock is released. What calls that were given up may have taken is released once more. Close does
// not come back for what Redis executes even later, after a cut of the network. Such a lock is held
// for its TTL.
//
// Close blocks at most for the longest margin of a held lease and one operation limit of 2 s.
// Without held leases it blocks for one round trip. After Close no goroutine and no connection is
// left, with one exception. The Dial of a [redis.Pool] which hangs cannot be hurried: its
// connection is closed when it comes.
//
// Close returns nil, also when it is called again. A hook must not call Close. A function that Do
// runs should leave Close to others: Close waits for that function.
func (c *Client) Close() error {
	if c.missing() {
		return engine.ErrNoClient
	}
	c.engine.Close()
	return nil
}
