package lock_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/contract"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// More servers to hold the API against, comma-separated: by their URLs, or as programs to start. The
// tests leave nothing on a server at a URL, but they do make it forget its scripts.
const (
	contractURLs    = "HOLDFAST_TEST_CONTRACT_URLS"
	contractServers = "HOLDFAST_TEST_CONTRACT_SERVERS"
)

// backend is the server at s as the contract sees it.
func backend(s *redistest.Server) contract.Backend {
	return contract.Backend{
		Client: func(t testing.TB, o *lock.Options) *lock.Client { return open(t, s, o) },
		Do:     func(t testing.TB, command string, args ...any) any { return s.Do(t, command, args...) },
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		contract.Run(t, backend(redistest.StartTCP(t)))
	})
	t.Run("unix socket", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		if s.Network() != "unix" {
			redistest.Skip(t, "there is no server program to listen on one")
		}
		contract.Run(t, backend(s))
	})
	t.Run("container", func(t *testing.T) {
		t.Parallel()
		contract.Run(t, backend(redistest.StartDocker(t)))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		b := backend(redistest.At(t, "redis://"+m.Addr()))
		b.Lacks = embeddedLacks
		contract.Run(t, b)
	})
	t.Run("locktest", func(t *testing.T) {
		t.Parallel()
		contract.Run(t, testBackend(locktest.Start(t)))
	})
}

var embeddedLacks = map[contract.Capability]string{contract.ClientList: "it is miniredis"}

// testBackend is the server that users' tests have.
func testBackend(s *locktest.Server) contract.Backend {
	do := func(t testing.TB, command string, args ...any) any {
		t.Helper()
		c, err := s.Pool().Dial()
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer c.Close()
		reply, err := c.Do(command, args...)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return reply
	}
	return contract.Backend{
		Client: func(t testing.TB, o *lock.Options) *lock.Client { return s.Client(t, o) },
		Do:     do,
		Lacks:  embeddedLacks,
	}
}

// Other versions of Redis, and Valkey.
func TestContractElsewhere(t *testing.T) {
	t.Parallel()
	urls, programs := commaList(contractURLs), commaList(contractServers)
	if len(urls)+len(programs) == 0 {
		redistest.Skip(t, "no other server is given: set "+contractURLs+" or "+contractServers)
	}
	for i, url := range urls {
		t.Run("url "+strconv.Itoa(i+1), func(t *testing.T) { // a URL can have a password
			t.Parallel()
			s := redistest.At(t, url)
			s.Ready(t)
			contract.Run(t, backend(s))
		})
	}
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			contract.Run(t, backend(redistest.StartProgram(t, program)))
		})
	}
}

func commaList(variable string) []string {
	return slices.DeleteFunc(strings.Split(os.Getenv(variable), ","),
		func(s string) bool { return s == "" })
}
