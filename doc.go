// Package holdfast is the home of locks in Redis for Go programs that must run a job once at a
// time. Waiters block in Redis instead of polling. Held locks renew themselves, and a holder is
// told before it loses its lock. Go and Python programs (python-redis-lock) share the same locks.
//
// Package holdfast has no code of its own. Start with package
// [github.com/holdfast-go/holdfast/lock]:
//
//	c, err := lock.Open(os.Getenv("REDIS_URL"), nil)
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	return c.Do(ctx, "migrate:orders", func(ctx context.Context) error {
//		return migrate(ctx) // ctx ends if the lock is lost
//	})
//
// The packages:
//
//   - [github.com/holdfast-go/holdfast/lock]: locks. Most programs need no other.
//   - [github.com/holdfast-go/holdfast/pool]: any free one of several things.
//   - [github.com/holdfast-go/holdfast/register]: a number that is set if a comparison holds, and a
//     gate for fencing tokens.
//   - [github.com/holdfast-go/holdfast/once]: a cache's value, computed by one process.
//   - [github.com/holdfast-go/holdfast/embedded]: the same client without a server, in one process.
//   - [github.com/holdfast-go/holdfast/locktest]: for the tests of programs that use locks.
//   - [github.com/holdfast-go/holdfast/renewal] and [github.com/holdfast-go/holdfast/signal]: what
//     package lock is built on. They know neither Redis nor locks.
//
// What is promised, what is not, and what to do on a bad day is in the docs directory of the
// repository.
package holdfast
