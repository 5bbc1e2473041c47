// Package locktest is for the tests of programs that use locks: a Redis inside the test, and faults
// on purpose. A test can show what a job does when it loses its lock or cannot get it, and when
// Redis is slow or gone.
//
//	func TestImportRunsOnce(t *testing.T) {
//		c := locktest.Client(t) // a *lock.Client on a server of its own
//		...
//	}
//
// [Start] gives the server itself. [Server.Client] makes more clients of it, which contend as hosts
// do. [Server.Expire], [Server.Steal], [Server.Delay] and [Server.Down] do what happens to Redis in
// production. Everything ends with the test.
//
// # Time
//
// Nothing here uses the network. So all of it works in a testing/synctest bubble, where TTLs of
// minutes pass in no time. Start the server inside the bubble, by [Start] or [Client] with the
// bubble's own t. A server from outside is refused there, with an error that says so. There is no
// other way to let time pass. A server whose clock ran ahead of the client's would only show a
// fault of the test.
//
// A lease that the program drops without Unlock ends in a bubble as it does elsewhere. That is at
// its next renewal after the garbage collector has found it, which runtime.GC makes soon. Otherwise
// the lease ends when its time is up or its client is closed.
//
// # What it is not
//
// The server is miniredis, which does what the locks need of Redis but is not Redis:
//
//   - It lets waiters of different clients in without any order.
//   - It has no ACLs.
//   - It is slow with thousands of keys that expire.
//
// Test what depends on these on a real Redis. Programs that are to run without a Redis, rather than
// tests, have package embedded.
package locktest
