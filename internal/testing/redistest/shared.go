package redistest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/inmemory"
)

const urlVariable = "HOLDFAST_TEST_REDIS_URL"

// shared is the package's server, made by the first test that asks for it.
var shared struct {
	mu sync.Mutex // guards the fields below

	server *Server
	err    error  // why there can be none
	skip   string // why there is none on this machine
}

// Shared returns the server that all tests of this test binary use together; see the package's
// comment for where it comes from. [Main] ends it. Tests keep apart by the names that [Name] makes;
// one that counts commands or connections, or changes the configuration, uses [Start].
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil && shared.skip == "" {
		shared.server, shared.skip, shared.err = open()
	}
	switch {
	case shared.err != nil:
		t.Fatalf("redistest: %v", shared.err)
	case shared.skip != "":
		Skip(t, shared.skip)
	}
	return shared.server
}

// open finds or starts the shared server, or says why the tests must do without.
func open() (s *Server, skip string, err error) {
	if raw := os.Getenv(urlVariable); raw != "" {
		if s, err = parse(raw); err == nil {
			err = s.ready()
		}
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", urlVariable, err)
		}
		return s, "", nil
	}
	s, err = newServer("unix")
	var none noServer
	if errors.As(err, &none) {
		return nil, none.Error(), nil
	}
	return s, "", err
}

// noServer says why this machine has no Redis.
type noServer struct{ program error }

func (e noServer) Error() string {
	return fmt.Sprintf("no Redis: %v; install it, or name a program in %s (a server in %s is enough "+
		"for the tests that share one)", e.program, binVariable, urlVariable)
}

// newServer starts a private server.
func newServer(network string) (*Server, error) {
	bin, err := Program()
	if err != nil {
		return nil, noServer{err}
	}
	return launch(func() (*Server, error) { return newProcess(bin, network, nil) })
}

// Serve gives a program, or an example, what [Shared] gives tests: the server at
// HOLDFAST_TEST_REDIS_URL, or a private one on a loopback port, until stop is called. An example cannot
// be skipped: where there is no server program it gets miniredis inside this process.
func Serve() (url string, stop func() error, err error) {
	if url := os.Getenv(urlVariable); url != "" {
		return url, func() error { return nil }, nil
	}
	s, err := newServer("tcp")
	switch none := (noServer{}); {
	case errors.As(err, &none):
		m := inmemory.Miniredis()
		err := m.Start()
		return "redis://" + m.Addr(), func() error { m.Close(); return nil }, err
	case err != nil:
		return "", nil, err
	}
	return s.URL(), s.host.Remove, nil
}

// Main runs a package's tests and ends the process. It ends the shared server, calls what is to be
// called at the end, and fails if any goroutine is left after tests that passed.
func Main(m *testing.M, atEnd ...func()) {
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "redistest:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func closeShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	s := shared.server
	shared.server = nil
	switch {
	case s == nil:
		return nil
	case s.host != nil:
		return s.host.Remove()
	default:
		return s.deleteOurs()
	}
}

// deleteOurs removes what the tests left on a server that is not ours: the keys that contain this
// run's mark.
func (s *Server) deleteOurs() error {
	keys, err := s.scan("*" + mark() + "*")
	for _, key := range keys {
		_, e := s.do("DEL", key)
		err = errors.Join(err, e)
	}
	return err
}

// mark is in every name that this process makes.
var mark = sync.OnceValue(func() string { return strings.ToLower(rand.Text()[:10]) })

var names atomic.Int64 // how many Name has made

// Name returns a name for a lock or key that no other test and no other run uses: the test's own
// name, a mark of this process and a number. It has no characters that mean something in a Redis
// pattern.
func Name(t testing.TB) string {
	safe := strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune(`*?[]\{}^`, r) {
			return r
		}
		return '_'
	}, t.Name())
	return fmt.Sprintf("%s-%s-%d", safe, mark(), names.Add(1))
}

// scan returns the keys that match a pattern, each once.
func (s *Server) scan(pattern string) ([]string, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	seen := map[string]bool{}
	var keys []string
	for cursor := "0"; ; {
		reply, err := redis.Values(c.Do("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
		if err != nil {
			return keys, err
		}
		var page []string
		if _, err := redis.Scan(reply, &cursor, &page); err != nil {
			return keys, err
		}
		for _, key := range page {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
		if cursor == "0" {
			return keys, nil
		}
	}
}
