package redisproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/child"
)

// A Process is one server. It may be started again and again, at the same address. Its methods are
// for one goroutine at a time, but Exited, Log and Pid may be called from any while it runs.
type Process struct {
	Network, Addr string // as net.Dial wants them

	config Config
	dir    string         // its configuration, socket, data and log
	child  *child.Process // the last start, nil before the first
}

// New prepares a server. It is not started yet. Whoever calls New must call [Process.Remove].
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

// Start starts the process. It returns when the process runs: the server need not answer yet. What
// it writes goes to a file, and not through this process, so that the last words of one that dies
// are there.
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
