package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redisproc"
)

// namespacePort is where the server of a namespace listens, on the namespace's own loopback.
const namespacePort = "6379"

// A Namespace is a network of its own on this machine, with a loopback, a server, and a firewall that
// can cut the way to it: the kernel's TCP, which goes on sending what a closed connection has not got
// through. No proxy shows that. It needs Linux, root, ip and iptables. The kernel removes it when this
// process ends, however it ends.
type Namespace struct {
	Server *Server // by a unix socket, past the cut
	Addr   string  // of the server, for [Namespace.Dial]

	inside threads
}

// threads runs functions on a thread that lives in the namespace.
type threads interface {
	run(f func() error) error
	close() error
}

// StartNamespace makes a namespace and a server in it, as [Start] does. The test is skipped where that
// cannot be had.
func StartNamespace(t testing.TB, conf ...string) *Namespace {
	t.Helper()
	bin, err := Program()
	if err != nil {
		Skip(t, "a network namespace needs a server on this machine: "+err.Error())
	}
	inside, err := newThreads()
	if err != nil {
		Skip(t, "no network namespace: "+err.Error())
	}
	t.Cleanup(func() {
		if err := inside.close(); err != nil {
			t.Errorf("redistest: closing the namespace: %v", err)
		}
	})
	n := &Namespace{Addr: net.JoinHostPort("127.0.0.1", namespacePort), inside: inside}
	for _, command := range []string{"ip link set lo up", "iptables -L INPUT"} {
		if err := n.command(command); err != nil {
			Skip(t, "no network namespace: "+err.Error())
		}
	}
	conf = append([]string{"bind 127.0.0.1", "port " + namespacePort}, conf...)
	n.Server = started(t, func() (*Server, error) {
		return prepared(redisproc.Config{
			Program: bin, Network: "unix", Lines: append(redisproc.InMemory(), conf...), Within: inside.run,
		}, secret(conf))
	})
	return n
}

// Cut drops all packets, in both directions, until [Namespace.Heal].
func (n *Namespace) Cut(t testing.TB) { t.Helper(); n.must(t, "iptables -A INPUT -j DROP") }

// Heal ends a cut.
func (n *Namespace) Heal(t testing.TB) { t.Helper(); n.must(t, "iptables -F INPUT") }

func (n *Namespace) must(t testing.TB, command string) {
	t.Helper()
	if err := n.command(command); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// command runs a command in the namespace.
func (n *Namespace) command(line string) error {
	args := strings.Fields(line)
	return n.inside.run(func() error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// A DialFunc dials as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial has dial connect from inside the namespace. dial must make its socket in the goroutine in which
// it is called, as [net.Dialer] does.
func (n *Namespace) Dial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		err = n.inside.run(func() (err error) {
			conn, err = dial(ctx, network, addr)
			return err
		})
		return conn, err
	}
}
