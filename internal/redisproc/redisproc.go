// Package redisproc runs a server program that is ours alone, such as redis-server. Tests, the demo,
// the examples and the measurements start their private servers with it.
//
//	p, err := redisproc.Run(ctx, redisproc.Config{Program: path, Network: "unix"}, ping)
//	...
//	defer p.Remove()
//
// A server has a directory of its own, which goes with it. It is a child process that does not
// outlive this one; see package child.
package redisproc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/child"
)

// A Config says how a server is to run.
type Config struct {
	Program string   // its path
	Network string   // "unix" for a socket in its directory, or "tcp" for a free port of 127.0.0.1
	Lines   []string // of redis.conf; a line overrides what comes before it

	// Within calls start where the process is to be started, in another network namespace, say. Nil
	// is here.
	Within func(start func() error) error
}

// Programs returns the server programs that are on PATH, the best first.
func Programs() []string {
	var found []string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// InMemory returns lines with which a server keeps nothing on disk.
func InMemory() []string { return []string{`save ""`, "appendonly no"} }

// A Process is one server. It may be started again and again, at the same address. Its methods are
// for one goroutine at a time, but Exited, Log and Pid may be called from any while it runs.
type Process struct {
	Network, Addr string // as net.Dial wants them

	config Config
	dir    string         // its configuration, socket, data and log
	child  *child.Process // the last start; nil before the first
}

// New prepares a server; it is not started yet. Whoever calls it must call [Process.Remove].
func New(config Config) (*Process, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	p := &Process{Network: config.Network, config: config, dir: dir}
	lines := []string{"daemonize no", `logfile ""`, "dir " + dir}
	listen, err := p.listen()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	lines = append(append(lines, listen...), config.Lines...)
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(p.file("redis.conf"), []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// listen decides where the server listens, and returns the lines that tell it so.
func (p *Process) listen() ([]string, error) {
	if p.Network == "unix" {
		p.Addr = p.file("redis.sock")
		return []string{"port 0", "unixsocket " + p.Addr, "unixsocketperm 700"}, nil
	}
	port, err := FreePort()
	p.Addr = fmt.Sprintf("127.0.0.1:%d", port)
	return []string{"bind 127.0.0.1", fmt.Sprintf("port %d", port)}, err
}

// An Ask asks a server whether it answers.
type Ask func(ctx context.Context, p *Process) error

// Run prepares a server, starts it and returns when it answers. What has failed to start is removed.
func Run(ctx context.Context, config Config, ask Ask) (*Process, error) {
	p, err := New(config)
	if err != nil {
		return nil, err
	}
	if err = p.Start(); err == nil {
		err = p.await(ctx, ask)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

// Start starts the process. It returns when the process runs; the server need not answer yet.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.file("redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.config.Program, p.file("redis.conf"))
	cmd.Stdout, cmd.Stderr = log, log
	started, err := child.StartWithin(p.config.Within, cmd)
	if err == nil {
		p.child = started
	}
	return err
}

// Kill ends the server with SIGKILL and returns when it is gone. If it does not run, that is no
// error.
func (p *Process) Kill() error {
	if p.Exited() {
		return nil
	}
	return p.child.Kill()
}

// Remove kills the server and deletes its directory.
func (p *Process) Remove() error { return errors.Join(p.Kill(), os.RemoveAll(p.dir)) }

// Exited reports whether the server does not run: it has ended, or was never started.
func (p *Process) Exited() bool {
	if p.child == nil {
		return true
	}
	select {
	case <-p.child.Done():
		return true
	default:
		return false
	}
}

// Log returns what the server wrote.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.file("redis.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Pid returns the id of the server's process, 0 if it does not run.
func (p *Process) Pid() int {
	if p.Exited() {
		return 0
	}
	return p.child.PID()
}

func (p *Process) file(name string) string { return filepath.Join(p.dir, name) }

// FreePort finds a port of 127.0.0.1 that nobody listens on. Somebody may take it at any time. It is
// below the range from which systems take the ports of outgoing connections. Those could take it
// while the server is down, and a client that dials such a port can end up connected to itself.
func FreePort() (int, error) {
	for range 100 {
		port := 16384 + rand.IntN(16384)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

// tempDir makes a directory with a path short enough for a unix socket (104 bytes on some systems).
func tempDir() (string, error) {
	parent := os.TempDir()
	if len(parent) > 70 {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "holdfast-")
}
