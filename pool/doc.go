// Package pool takes any free one of several things: one of ten licences, of the ports of a test
// lab, of the workers' directories.
//
// A pool is a name and its members. Each member has a lock. Whoever wants any of them gets the
// first that is free, or waits for the first one that becomes free, without polling.
//
//	p := pool.New(client, "licences", nil)
//	_, _, err := p.Assign(ctx, "A-17", "A-18", "B-3") // once, by whoever runs it
//
//	err = p.Do(ctx, func(ctx context.Context, member string) error {
//		return simulate(ctx, member) // ctx ends if the lease is lost
//	})
//
// A pool uses the connections of a [lock.Client]. A [Lease] of a pool is a [lock.Lease] with a
// member. The lease is renewed and is told of its loss. Its fencing tokens are those of the member.
//
// # Guarantees
//
//  1. A member has at most one valid lease, as package lock promises.
//  2. What left the pool is not given out any more from then on, by any client. Whoever holds it
//     goes on until the release.
//  3. A release by a lease of a pool wakes a waiter. The waiter asks, and has a member after two
//     round trips. After the expiry of a member that a waiter knows of, the waiter has one within
//     5 ms and a round trip. After any accident a waiter has one within a second and a round trip
//     on a healthy link. On any other link that is a second and an operation limit of 2 s. The same
//     holds after a member was added, and after a release while 16 others are not heard yet.
//  4. Waiting for members costs what waiting for locks does: one connection for each 64 pools, and
//     three commands a second on it while nothing happens.
//
// Where a lock has its name, the pool P is called {P}/: in Hooks.Waiting, in errors, in the counts
// of who waits. lock.Client.List shows the members' locks without waiters: who waits for a pool
// waits for none of them.
//
// # What it does not promise
//
//   - Order. Clients try the members in the order of the pool, or from anywhere on
//     (Options.Spread). Waiters of different clients get members in no particular order.
//   - What package lock does not promise.
//
// # In Redis
//
// The members of the pool P are the sorted set lock-pool:{P}. The lock of the member M is the lock
// {P}/M. Waiters wait at lock-signal:{P}/, where a release says which member it was. The braces
// keep all of these keys in one slot of a Redis Cluster.
//
// Programs that lock {P}/M by that name exclude the pool's leases. Each side sees the other's
// releases only within a second. A waiter of python-redis-lock without expire, which waits for
// {P}/M by that name, does not look. That one sleeps through the release of a pool's lease, until
// somebody releases {P}/M by its name, or resets it.
//
// A pool is made for up to some thousand members. A waiter that comes to its turn looks at all of
// them at once. So does each client that waits, once a second. Beyond 10,000 members of all pools
// on one connection the waiters there ask once a second.
package pool
