// Package redisconn is how holdfast reaches a Redis server: connections that it dials itself, and
// that neither a dead server nor a caller that gave up can hold up.
//
// A [Source] knows how to dial. A [Link] is one connection with an owner of its own and a time
// limit on everything. A [Line] is a connection that many goroutines share: what they ask while an
// exchange is under way goes out together in the next write. [Classify] says what an error means
// for the next attempt.
//
// redigo speaks the protocol. It cannot interrupt a read or a write without killing the
// connection, and has no limit on writing; so everything here runs under a fuse, a timer that
// closes the connection, and a caller whose context ends leaves its call behind instead of
// breaking a connection that others use.
package redisconn
