package lock

import "context"

// Seize takes the lock whoever holds it. The one who did is told at its next renewal, as with
// [Client.Reset], and until then there are two: the fencing token orders them, since ours is greater.
// Its Unlock does not release the lock. Nobody's signal is used up and none is given: waiters go on
// waiting.
//
// It asks who holds the lock, and takes it from that one; if it has changed hands meanwhile, again, for
// one operation limit of 2 s at most, after which the error is a [*HeldError]. Each of the two steps
// blocks as [Mutex.TryLock] does. The error Is [ErrUnknown] if Redis may have done it without our learning
// of it: that is cleaned up in the background, and then nobody holds the lock; under an id that
// MutexOptions.ID gives it is left to expire. No lease is held after an error. A value of more than 1 KiB, which no lock has, must be reset before.
func (m *Mutex) Seize(ctx context.Context) (*Lease, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return leaseOf(m.client.engine.Seize(ctx, m.name, m.settings.id, m.settings.Settings))
}
