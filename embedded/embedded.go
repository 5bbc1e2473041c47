// Package embedded has the locks of package lock without a Redis server: the Redis is in the
// process. It is for programs that run in one process today and on many hosts tomorrow. Command
// line tools and development set-ups are such programs. Their code is the same. Only where the
// client comes from differs.
//
//	func open(url string) (*lock.Client, error) {
//		if url == "" {
//			return embedded.Open(nil)
//		}
//		return lock.Open(url, nil)
//	}
//
// The client is a *lock.Client like any other: it waits, renews, loses leases, tells hooks. It does
// not use the network, and no port is open.
//
// # What it is not
//
// Nobody outside of the process sees these locks. They keep goroutines apart, not hosts, and not
// two runs of one tool. Nothing is kept when the process ends. If that is all that a program will
// ever need, a sync.Mutex does it with less.
//
// The Redis is miniredis, which does what the locks need but is not Redis:
//
//   - Waiters of different clients get a lock in no order at all. Those of one client get it in
//     order, as always.
//   - A lock and its unlock take about 0.3 ms of the process's own processor time.
//   - Every step looks at each key that expires, and a lock's fencing token is kept for seven days.
//     With the tokens of 5,000 names a lock and its unlock take more than 10 ms. With thousands of
//     names set lock.Options.NoFence, if nothing uses the tokens.
//   - Names are not forgotten: each that was ever used costs about 200 bytes until the server goes.
//   - The server has neither ACLs nor CONFIG, and tells little of itself. Most of what Client.Check
//     asks is unknown.
//
// Tests use package locktest: the same server, which ends with the test, and on which things can be
// made to go wrong. What many keys or hosts use for long is for a real Redis.
package embedded

import (
	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/lock"
)

// Open returns a client of a server of its own. Most callers want that: one client is enough for
// all goroutines of a process. Nil options are ready for use. Close the client at the end. Nothing
// is left of the server then. The errors are those of [lock.New], all of them [lock.ErrInvalid].
func Open(o *lock.Options) (*lock.Client, error) { return New().Open(o) }

// A Server is a Redis in the process, for programs that need several clients of one: with different
// options, say, or to play several hosts. Its methods may be called from any goroutine. A Server
// need not be closed: it is memory, and whoever has a connection to it keeps it. Make one with
// [New].
type Server struct{ redis *inmemory.Server }

// New returns an empty server.
func New() *Server { return &Server{inmemory.New()} }

// Open returns a client of the server. Nil options are ready for use. Two clients contend as two
// hosts do. Give them labels to tell them apart. Close each at the end. The errors are those of
// [lock.New], all of them [lock.ErrInvalid].
func (s *Server) Open(o *lock.Options) (*lock.Client, error) { return lock.New(s.Pool(), o) }

// Pool returns a new pool of connections to the server. It is for programs that make their clients
// themselves, with lock.New, or that use Redis for more than locks. The caller closes it.
func (s *Server) Pool() *redis.Pool { return s.redis.Pool() }
