// Package redisconn is how holdfast reaches a Redis server: by connections that it dials itself,
// and that neither a dead server nor a caller that gave up can hold up.
//
// A [Source] knows how to dial. A [Link] is one connection with an owner of its own and a time
// limit on everything. A [Line] is a connection that many goroutines share: what they ask while an
// exchange is under way goes out together in the next write. [Classify] says what an error means
// for the next attempt.
//
// redigo speaks the protocol. It cannot interrupt a read or a write without killing the connection,
// and has no limit on writing. So everything here runs under a fuse, a timer that closes the
// connection. A caller whose context ends leaves its call behind, instead of breaking a connection
// that others use.
//
// # Files
//
// The files form layers. A file uses only those beside and below it.
//
//	line.go                 a line as its callers see it; who drives it
//	drive.go, queue.go      its driver: connect, write, hand out replies; the calls that wait
//	port.go                 dials that outlast the patience of who asks for them
//	dial.go, source.go      dial, greet, come for orphans; what the dials of a client share
//	greeting.go, do.go      the first write on a link (AUTH, SELECT, KILL of orphans); its owner's
//	flight.go, link.go      an exchange of calls on a link; a link, its time limit and its close
//	orphans.go, idle.go     links given up, but not over in the server; links dead, though only idle
//	fuse.go, pace.go        exchanges that take too long; dials that come too often
//	url.go, netdial.go      URLs; sockets and TLS
//	dialer.go, panic.go     how a server is reached; the user's own connections
//	wire.go, frame.go       one reply for each read; how long a reply is, and may be
//	tap.go, peek_*.go       a socket that can be looked at without waiting, and reset
//	call.go, command.go     what is asked, and answered
//	located.go, discreet.go an error with its server, and without passwords
//	class.go, errors.go     what an error means for the next attempt; our own errors
package redisconn
