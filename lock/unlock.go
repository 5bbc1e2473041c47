package lock

import (
	"context"
	"runtime"
)

// Unlock ends the lease and releases the lock, which wakes one waiter. The lease's context ends
// before anything is sent. No renewal of the lease is written after Unlock returned. A lock that
// was taken with HoldAtLeast goes to nobody before that time is over. Redis keeps the key until
// then, and the process may end.
//
// Unlock works when ctx has ended, and blocks at most two operation limits of 2 s. It may be called
// repeatedly and concurrently: every call gets the first one's result.
//
// If the error is nil, the lock was released. Otherwise the error Is:
//   - [ErrNotHeld] and [ErrLost] if the lease had ended before.
//   - [ErrUnknown] if it is not known whether the lock was released, or expired before it could be.
//     With HoldAtLeast, also if it is not known whether nobody got the lock before its minimum was
//     over.
//
// After [ErrUnknown] the client goes on trying in the background, until the key must have expired
// or the client is closed. Any other error says that Redis refuses, or that the client was closed
// before. The key expires with its TTL then, if it has one.
//
// An acquire of this lease that had to be repeated may take the lock late. A client that lives
// undoes that, for two minutes.
func (l *Lease) Unlock(ctx context.Context) error {
	h := l.held()
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	l.cleanup.Stop()
	defer runtime.KeepAlive(l)
	return h.Release()
}

// finish is Unlock for Do. If the lease has ended before, the lock is released in the background.
// The job was told, and its caller is not to wait for a Redis that hangs.
func (l *Lease) finish() error {
	l.cleanup.Stop()
	defer runtime.KeepAlive(l)
	return l.held().Finish()
}
