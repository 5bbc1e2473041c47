package locks

import (
	"errors"
	"net/url"
	"strconv"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
)

// Server returns a private server that knows the scripts, so that each call is one EVALSHA. At the
// end of the test it must have no connection of holdfast's.
func Server(t testing.TB, conf ...string) *redistest.Server {
	t.Helper()
	return Prepared(t, redistest.Start(t, conf...))
}

// Prepared is [Server] for one that runs already.
func Prepared(t testing.TB, s *redistest.Server) *redistest.Server {
	t.Helper()
	c := s.Dial(t)
	defer c.Close()
	wire.Load(t, c)
	t.Cleanup(func() {
		redistest.Until(t, "all connections are closed", func() bool { return s.Clients(t, "holdfast:") == 0 })
	})
	return s
}

// Proxy returns a proxy before the server. At the end of the test all clients must have closed
// their connections.
func Proxy(t testing.TB, s *redistest.Server) *faultproxy.Proxy {
	t.Helper()
	p := faultproxy.Start(t, s.Network(), s.Addr())
	t.Cleanup(func() {
		p.Heal()
		redistest.Until(t, "all connections are closed", func() bool { return p.Open("") == 0 })
	})
	return p
}

// WithoutKill returns the proxy's URL for a user whose connections cannot end their predecessors by
// CLIENT KILL: what they gave up is executed when it comes.
func WithoutKill(t testing.TB, s *redistest.Server, p *faultproxy.Proxy) string {
	t.Helper()
	s.Do(t, "ACL", "SETUSER", "nokill", "on", ">secret", "~*", "+@all", "-client", "+client|setname")
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nokill", "secret")
	return u.String()
}

// Value returns what a string key holds, "" if it is not there.
func Value(t testing.TB, s *redistest.Server, key string) string {
	t.Helper()
	text, err := redis.String(s.Do(t, "GET", key), nil)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		t.Fatalf("GET %s: %v", key, err)
	}
	return text
}

// PTTL returns how many milliseconds a key has left: -1 for no expiry, -2 for no key.
func PTTL(t testing.TB, s *redistest.Server, key string) int64 {
	t.Helper()
	left, ok := s.Do(t, "PTTL", key).(int64)
	if !ok {
		t.Fatalf("PTTL %s is no number", key)
	}
	return left
}

// Int returns the number that a text is.
func Int(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// Waiting returns how many waiters the registers in Redis show. A client writes its own with its
// look, each second.
func Waiting(t testing.TB, s *redistest.Server) int {
	t.Helper()
	n := 0
	for _, key := range s.Keys(t, "lock-waiting:*") {
		counts, err := redis.IntMap(s.Do(t, "HGETALL", key), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, count := range counts {
			n += count
		}
	}
	return n
}
