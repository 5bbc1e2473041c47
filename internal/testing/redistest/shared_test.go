package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestShared(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	if again := redistest.Shared(t); again != s {
		t.Error("Shared makes a second server")
	}
	if got := text(s.Do(t, "PING")); got != "PONG" {
		t.Errorf("PING: %q", got)
	}
}

func TestName(t *testing.T) {
	t.Run(`odd [*?]{}\^ ünïcode`, func(t *testing.T) {
		a, b := redistest.Name(t), redistest.Name(t)
		if a == b {
			t.Errorf("%q came twice", a)
		}
		if strings.ContainsAny(a, `*?[]{}\^ü `) || !strings.HasPrefix(a, "TestName/odd_") {
			t.Errorf("name %q", a)
		}
	})
}

// TestBeforeTheEnd runs in a second test binary; see TestNoServerIsLeft.
func TestBeforeTheEnd(t *testing.T) {
	how := os.Getenv("HOLDFAST_TEST_END")
	if how == "" {
		return
	}
	all := []*redistest.Server{redistest.Shared(t), redistest.Start(t), redistest.StartTCP(t)}
	for _, s := range all {
		fmt.Println("SERVER", s.Network(), s.Addr())
	}
	fmt.Println("READY")
	switch how {
	case "exit":
		os.Exit(0)
	case "panic":
		go panic("on purpose")
		select {}
	case "wait":
		<-time.After(time.Minute)
	}
}

func TestNoServerIsLeft(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOLDFAST_TEST_END") != "" {
		return
	}
	for _, how := range []string{"return", "exit", "panic", "wait"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how != "return" && runtime.GOOS != "linux" {
				redistest.Skip(t, "only Linux ends a child together with its parent")
			}
			redistest.Start(t) // skips where there is no server program
			for _, server := range serversOf(t, how) {
				redistest.Until(t, "nobody listens at "+server[1], func() bool {
					c, err := net.Dial(server[0], server[1])
					if err == nil {
						c.Close()
					}
					return err != nil
				})
			}
		})
	}
}

// serversOf runs this test binary again until it has ended in the given way (for "wait": is
// killed), and returns the network and address of each server that it had.
func serversOf(t *testing.T, how string) [][2]string {
	t.Helper()
	if os.Getenv("HOLDFAST_TEST_REDIS_URL") != "" {
		redistest.Skip(t, "needs a shared server that is ours")
	}
	dir, err := os.MkdirTemp("", "hf") // for what it cannot remove; t.TempDir's path is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBeforeTheEnd$")
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_END="+how, "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var servers [][2]string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "SERVER "); ok {
			network, addr, _ := strings.Cut(rest, " ")
			servers = append(servers, [2]string{network, addr})
		}
		if lines.Text() == "READY" && how == "wait" {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if len(servers) != 3 || (err == nil) != (how == "return" || how == "exit") {
		t.Fatalf("%d servers, %v", len(servers), err)
	}
	return servers
}

// TestForeignServer plays with a server that a URL names: it runs this binary's TestShared on it.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOLDFAST_TEST_FOREIGN") != "" {
		foreign(t)
		return
	}
	s := redistest.StartTCP(t, "requirepass x")
	for _, mine := range []string{"lock:mine", "other"} {
		s.Do(t, "SET", mine, "stays")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestForeignServer$")
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_FOREIGN=1", "HOLDFAST_TEST_REDIS_URL="+s.URL())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"on " + s.URL(), "SKIP TestForeignServer: needs a server of its own",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if keys := fmt.Sprint(s.Keys(t, "*")); keys != "[lock:mine other]" {
		t.Errorf("left on the server: %s, want only what was there before", keys)
	}
}

func foreign(t *testing.T) {
	s := redistest.Shared(t)
	fmt.Println("on", s.URL())
	s.Do(t, "SET", "lock:"+redistest.Name(t), "x")
	s.Do(t, "SET", "lock-fence:"+redistest.Name(t), "x", "PX", 100_000)
	if s.Ours() {
		t.Error("a server named by a URL is taken for ours")
	}
	s.Kill(t)
	t.Error("a server that is not ours was killed")
}
