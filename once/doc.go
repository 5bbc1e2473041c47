// Package once computes a value once for all hosts that want it at the same time, and not once for
// each. That is the answer to dogpiles: everybody who asks for a value that a cache has dropped
// would compute it. The cache can be anything that loads and stores.
//
//	reports := &once.Cache[string, Report]{
//		Mutex:   func(month string) *lock.Mutex { return c.Mutex("report:" + month) },
//		Load:    loadReport,  // from memcached, Redis, a file, a table, ...
//		Compute: buildReport, // takes a minute
//		Store:   storeReport,
//	}
//	report, err := reports.Get(ctx, "2024-05")
//
// [Cache.Get] loads the value. If the cache does not have it, Get takes the lock, loads again, and
// only then computes and stores. Whoever waited for the lock meanwhile gets the fresh value from
// the cache.
//
// # Guarantees
//
//  1. A value is computed by one at a time, as far as a lock goes: see the guarantees of package
//     lock. Without the lock nothing is computed, also if Redis is gone.
//  2. A failure is its caller's own. If Compute fails, panics, or its caller's context ends, the
//     next one who waits tries.
//  3. Compute is told by its context when the lease is lost. What Compute returns after that is not
//     stored.
//  4. A broken cache causes no stampede: an error of Load is returned, and nothing is computed.
//  5. Of those that wait in one process for the same key of a Cache, one waits for the lock. When
//     that one has the value, the others load it without the lock, all at once. Who loads the cache
//     in vain costs Redis nothing while another of the process waits or computes.
//
// # What it does not promise
//
//   - A host that is paused between the last look at its lease and its Store stores late. That may
//     be over a newer value, which another host has computed meanwhile. Store gets the fencing
//     token of its lease, and can leave the value alone if the cache has one with a larger token.
//     Where an old value does no harm for the time that the cache keeps it, forget the token.
//   - A Compute under way is not spared when the lock's client is closed. Close and Shutdown end
//     its lease, as they do with every lease that is not of a Do.
//   - A cache may drop a value sooner than the next one has loaded it. Then each computes it again,
//     one after the other.
package once
