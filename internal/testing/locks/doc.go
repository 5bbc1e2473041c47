// Package locks is what tests need in order to use locks: clients that are closed with the test,
// leases that must be got, a Lock in the background, what hooks told, and the bounds within which
// things must happen.
//
//	s := locks.Server(t)                    // a private Redis that knows the scripts
//	p := locks.Proxy(t, s)                  // what happens to connections, happens here
//	holder := locks.Met(t, s.URL(), nil)    // a client that has a connection
//	waiter := locks.Met(t, p.URL(), nil)
//	lease := locks.Acquire(t, holder.Mutex("job"))
//	wait := locks.Later(locks.Soon(t), waiter.Mutex("job"))
//	s.Blocked(t, 1)
//	locks.Unlock(t, lease)
//	next, at := locks.Got(t, wait)
//
// It needs nothing of package lock but what its users see. What goes wrong ends the test.
package locks
