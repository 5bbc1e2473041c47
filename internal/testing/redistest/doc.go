// Package redistest gives tests a real Redis. A lock tested on a fake only is not tested.
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		s := redistest.Shared(t)       // one server for the whole package, or
//		s = redistest.Start(t, "hz 100") // one of our own, to stop, kill and restart
//		name := redistest.Name(t)      // collides with no other test's names
//		s.Do(t, "SET", "lock:"+name, "x")
//	}
//
// # Where the server comes from
//
// A private server is redis-server or valkey-server from PATH, or the program that
// HOLDFAST_TEST_REDIS_BIN names. It listens on a unix socket, or on a loopback port, keeps nothing
// on disk and dies with its test; on Linux even if the test binary is killed. Where there is no
// such program, the test is skipped. [StartOn] runs a server elsewhere: in a container, say.
//
// [Shared] uses the server at HOLDFAST_TEST_REDIS_URL if that is set. Such a server is not ours: it
// is never flushed, stopped or restarted, tests that would need it skip, and at the end [Main]
// deletes only keys that contain a name made by [Name].
//
// What cannot run is skipped by [Skip], with a reason that `make test` repeats at its end.
package redistest
