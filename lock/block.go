package lock

import (
	"context"
	"time"
)

// Block keeps everybody from the lock of this name for d, which is 50 ms to 366 days. Nobody holds
// the lock meanwhile: there is no lease, and nothing is renewed. The process may end.
// [Client.Owner] tells who blocked the lock, with Kept set. No clean-up by label, host or age ends
// a block. [Client.Reset] does.
//
// Block again by the same Client has the lock blocked for d from now on, which may be longer or
// shorter than before. When the time is over, a client that still lives gives a signal. So waiters
// of python-redis-lock without expire wake as well. All other waiters find the end by themselves.
//
// Block blocks as [Mutex.TryLock] does, and for two round trips if the lock is blocked already.
// Before that it waits for other calls of Block by this client about the same name. The error Is:
//   - [ErrHeld], as a [*HeldError], if somebody holds the lock, or another client blocks it.
//   - [ErrUnknown] if Redis may have executed the command without telling. A new block is undone in
//     the background, as with [Mutex.TryLock]. A block that was to be changed ends as it did
//     before, or as it should now.
//   - [ErrWrongType] or [ErrInvalid], and nothing is changed.
func (c *Client) Block(ctx context.Context, name string, d time.Duration) error {
	if err := c.checkName(name); err != nil {
		return err
	}
	if d < minTTL || d > maxTTL {
		return invalid("the duration %v is out of range: give %v to %s", d, minTTL, maxTTLText)
	}
	return c.engine.Block(ctx, name, c.settings.Label, d)
}
