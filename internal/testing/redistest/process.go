package redistest

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redisproc"
)

const binVariable = "HOLDFAST_TEST_REDIS_BIN"

// Program finds the program of a private server: the one that HOLDFAST_TEST_REDIS_BIN names, else
// redis-server or valkey-server from PATH.
func Program() (string, error) {
	if bin := os.Getenv(binVariable); bin != "" {
		return exec.LookPath(bin)
	}
	if found := redisproc.Programs(); len(found) > 0 {
		return found[0], nil
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH")
}

// A process is a [Host]: a server that runs as our child.
type process struct{ *redisproc.Process }

// newProcess prepares a server that keeps nothing on disk; it is not started yet.
func newProcess(bin, network string, conf []string) (*Server, error) {
	lines := append(redisproc.InMemory(), conf...)
	return prepared(redisproc.Config{Program: bin, Network: network, Lines: lines}, secret(conf))
}

// prepared is the server of a process that is not started yet.
func prepared(config redisproc.Config, password string) (*Server, error) {
	p, err := redisproc.New(config)
	if err != nil {
		return nil, err
	}
	return &Server{network: p.Network, addr: p.Addr, password: password, host: process{p}}, nil
}

// FreePort finds a port of 127.0.0.1 that nobody listens on, for something else than the server
// itself. Somebody may take it at any time.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := redisproc.FreePort()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return port
}
