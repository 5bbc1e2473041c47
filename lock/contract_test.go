package lock_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/testing/contract"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// More servers to hold the API against, comma-separated: by their URLs, or as programs to start. The
// tests leave nothing on a server at a URL and do not change its configuration, but they do make it
// forget its scripts, and answer nobody for some seconds.
const (
	contractURLs    = "HOLDFAST_TEST_CONTRACT_URLS"
	contractServers = "HOLDFAST_TEST_CONTRACT_SERVERS"
)

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		contract.Run(t, contract.On(redistest.StartTCP(t)))
	})
	t.Run("unix socket", func(t *testing.T) {
		t.Parallel()
		contract.Run(t, contract.On(redistest.Start(t)))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := embedded.New()
		b := miniBackend(s.Pool, func(t testing.TB, o *lock.Options) *lock.Client {
			t.Helper()
			c, err := s.Open(o)
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		})
		b.Lacks[contract.Hanging] = "it is miniredis, and has nothing else for it"
		contract.Run(t, b)
	})
	t.Run("locktest", func(t *testing.T) {
		t.Parallel()
		s := locktest.Start(t)
		b := miniBackend(s.Pool, func(t testing.TB, o *lock.Options) *lock.Client { return s.Client(t, o) })
		b.Hang = func(_ testing.TB, d time.Duration) {
			s.Delay(time.Hour)
			time.AfterFunc(d, func() { s.Delay(0) })
		}
		contract.Run(t, b)
	})
}

// miniBackend is a server inside the process, which is miniredis.
func miniBackend(pool func() *redis.Pool, client func(testing.TB, *lock.Options) *lock.Client,
) contract.Backend {
	do := func(t testing.TB, command string, args ...any) any {
		t.Helper()
		c, err := pool().Dial()
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
	lacks := map[contract.Capability]string{
		contract.ClientList: "it is miniredis", contract.Reconfiguring: "it is miniredis",
	}
	return contract.Backend{Client: client, Do: do, Lacks: lacks}
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
			contract.Run(t, contract.On(s))
		})
	}
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			contract.Run(t, contract.On(redistest.StartProgram(t, program)))
		})
	}
}

func commaList(variable string) []string {
	return slices.DeleteFunc(strings.Split(os.Getenv(variable), ","),
		func(s string) bool { return s == "" })
}
