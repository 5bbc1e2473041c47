package lock

import (
	"context"
	"time"
)

// Block keeps everybody from the lock of this name for d, 50 ms to 366 days, without holding it: there is
// no lease, nothing is renewed, and the process may end. [Client.Owner] tells who blocked it, with Kept
// set, and no clean-up by label, host or age ends it; [Client.Reset] does.
//
// Block again by the same Client has the lock blocked for d from now on, which may be longer or shorter.
// When the time is over the client gives a signal, if it lives still, so that waiters of python-redis-lock
// without expire wake as well. All other waiters find the end by themselves.
//
// It blocks as [Mutex.TryLock] does, for two round trips if the lock is blocked already, and before that for
// other calls of it about the same name. The error Is
//   - [ErrHeld], a [*HeldError], if somebody holds the lock, or another client blocks it.
//   - [ErrUnknown] if Redis may have done it without telling. A new block is undone in the background, as
//     with [Mutex.TryLock]; one that was to be changed ends as it did before, or as it should now.
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
