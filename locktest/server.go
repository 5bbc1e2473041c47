package locktest

import (
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/lock"
)

// T is what this package needs of a test: every *testing.T, *testing.B and *testing.F has it.
type T interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// A Server is a Redis inside the test. What its methods do has happened when they return. They may
// be called from any goroutine, except those that end the test when they are misused. These are for
// the goroutine of the test. Make a Server with [Start].
type Server struct {
	// Prefix and KeyFormat say which locks Expire and Steal are for: those of clients with these in
	// their lock.Options. Set them for clients that the program makes itself. If one is set, both
	// are taken as they are.
	//
	// If neither is set, the locks are those of the clients that [Server.Client] has made. If these
	// clients have different ones, Expire and Steal end the test. If there is no such client, the
	// options' defaults are meant.
	Prefix    string
	KeyFormat string

	t     T
	redis *inmemory.Server

	mu   sync.Mutex // guards the field below
	seen []keyspace // of the clients, each once
}

// Client returns a client, with the default options, of a server of its own. Both are closed at the
// end of the test.
func Client(t T) *lock.Client {
	t.Helper()
	return Start(t).Client(t, nil)
}

// Start runs a server until the end of the test. For a test in a synctest bubble start the server
// inside the bubble. Clients in a bubble cannot use one from outside: [Server.Client] ends the test
// then, and connections of [Server.Pool] are refused.
func Start(t T) *Server {
	s := &Server{t: t, redis: inmemory.New()}
	t.Cleanup(s.redis.Close)
	return s
}

// Client returns a client of the server that is closed at the end of the test. Nil options are
// ready for use. Two clients contend as two hosts do. Give them labels to tell them apart.
//
// A delay ends before the client is closed. With leases that are still held, to close takes as long
// as their margin.
func (s *Server) Client(t T, o *lock.Options) *lock.Client {
	t.Helper()
	if err := s.redis.Usable(); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	c, err := lock.New(s.Pool(), o)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	s.saw(o)
	t.Cleanup(func() {
		s.redis.Delay(0)
		_ = c.Close() // always nil
	})
	return c
}

// saw remembers how the locks of a client are called in Redis.
func (s *Server) saw(o *lock.Options) {
	k := keyspaceOf("", "")
	if o != nil {
		k = keyspaceOf(o.Prefix, o.KeyFormat)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.seen, k) {
		s.seen = append(s.seen, k)
	}
}

// Pool returns a new pool of connections to the server. It is for programs that make their clients
// themselves, with lock.New, and for what else a test wants of Redis. The caller closes it.
func (s *Server) Pool() *redis.Pool { return s.redis.Pool() }
