package lock

import (
	"context"
	"runtime"
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
	h := l.held()
	if ctx == nil {
		return invalid("the context is nil: pass context.Background()")
	}
	l.cleanup.Stop()
	defer runtime.KeepAlive(l)
	return h.Release()
}

// finish is Unlock for Do. If the lease has ended before, the lock is released in the background: the job
// was told, and its caller is not to wait for a Redis that hangs.
func (l *Lease) finish() error {
	l.cleanup.Stop()
	defer runtime.KeepAlive(l)
	return l.held().Finish()
}
