// Package lock holds locks in Redis: for jobs on several hosts that must run once at a time. A job
// keeps its lock for as long as it runs, and not much longer if it dies.
//
// Waiters block in Redis and do not poll. A held lock renews itself. Its holder is told before
// anybody else can get the lock, unless the key itself is taken away. Anybody can ask who holds a
// lock. A restarted program can clean up after the one before it. The wire format is that of
// python-redis-lock, so that Go and Python programs share locks.
//
//	c, err := lock.Open("redis://localhost:6379/0", nil)
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	return c.Do(ctx, "migrate:orders", func(ctx context.Context) error {
//		return migrate(ctx) // ctx ends, with a cause that Is ErrLost, if the lease is lost
//	})
//
// Do waits: whoever comes second runs after the first. A job that one host of many is to run once,
// such as every night, uses [Mutex.TryLock] with MutexOptions.HoldAtLeast.
//
// A [Client] is what the locks of a process share. A [Mutex] is a name with settings. A [Lease] is
// one acquisition. Programs that use this package can be tested without a Redis, with package
// locktest of the same module.
//
// # Guarantees
//
//  1. At most one valid lease per name at a time, as long as Redis keeps its memory and clocks run
//     at nearly the same rate.
//  2. A lease ends, and its context with it, before anybody else can get the lock, if Redis is
//     gone, hangs, or loses replies. After a pause of the process [Lease.Valid] is false at once.
//     If the key itself is taken away, a lease that is renewed learns of that at its next renewal.
//  3. A release wakes a waiter. The waiter asks, and has the lock after two round trips. After the
//     expiry of a holder that its client has seen, the waiter has the lock within 5 ms and a round
//     trip. After any accident, while Redis answers, it has the lock within a second and a round
//     trip on a healthy link. On any link it has the lock within a second and one operation limit
//     (2 s).
//  4. An acquire whose outcome is not known is cleaned up, and the error Is [ErrUnknown]. Under an
//     id that the user chose it is left to expire.
//  5. [Lease.Unlock] works with a dead context, repeatedly, and when Redis is out of memory. It
//     tells apart: released, was not held any more, not known.
//  6. A client costs Redis one connection for calls, one for renewals, one for each 64 names waited
//     for and one more for waiting. A held lease costs no goroutine.
//  7. Nothing that is not a lock is changed, whatever its key is called.
//
// # What it does not promise
//
// One Redis is the judge. If it loses its memory, the lock is lost, and until its holder learns of
// the loss there can be two. Redis loses its memory by a restart without persistence, an eviction,
// a failover before replication, or a clock stepped forward.
//
// No lock stops code that goes on after its context has ended. Pass [Lease.Fence] to the resource,
// and let the resource refuse smaller tokens than it has seen. Waiters of different processes get
// the lock in no particular order.
//
// # Compatibility
//
// The package works with Redis 6.0 and later, and with Valkey. It works with python-redis-lock 4.x
// on the same keys, in both directions. The renewal of python-redis-lock itself gives up at the
// first error, unnoticed, which holdfast cannot mend.
package lock
