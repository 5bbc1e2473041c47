package lock

import "context"

// Seize takes the lock, whoever holds it. The former holder is told at its next renewal, as with
// [Client.Reset]. Until then there are two. The fencing token orders them, since ours is greater.
// The former holder's Unlock does not release the lock. Nobody's signal is used up and none is
// given: waiters go on waiting.
//
// Seize asks who holds the lock, and takes the lock from that holder. If the lock has changed hands
// meanwhile, Seize does both again, for one operation limit of 2 s at most. Each of the two steps
// blocks as [Mutex.TryLock] does. A value of more than 1 KiB, which no lock has, must be reset
// before.
//
// No lease is held after an error. The error Is:
//   - [ErrHeld], as a [*HeldError], if the lock went on changing hands for that long.
//   - [ErrUnknown] if Redis may have executed the command without our learning of it. That is
//     cleaned up in the background, and then nobody holds the lock. Under an id that
//     MutexOptions.ID gives, the lock is left to expire.
func (m *Mutex) Seize(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.Seize(ctx, m.name, m.settings.id, m.settings.Settings))
}
