// Package peer runs processes that use locks beside a test, and do what they are told line by line.
// They can be stopped and killed.
//
//   - [Start] makes such a process of the test binary itself. Its package has a test named
//     TestFaultProcess that calls [Serve] and does nothing else.
//   - [Python] is python-redis-lock, the real one.
//   - [Wire] speaks the wire of python-redis-lock, for where that cannot be had.
//   - [RedisPy] is the Lock of redis-py.
//
// What these processes understand is in [Serve] and in the .py files here.
package peer
