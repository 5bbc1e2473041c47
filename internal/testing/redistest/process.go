package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const binVariable = "HOLDFAST_TEST_REDIS_BIN"

// Program finds the program of a private server: the one that HOLDFAST_TEST_REDIS_BIN names, else
// redis-server or valkey-server from PATH.
func Program() (string, error) {
	if bin := os.Getenv(binVariable); bin != "" {
		return exec.LookPath(bin)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin, nil
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH")
}

// A process is a [Host]: a server that runs as our child.
type process struct {
	bin string
	dir string // its configuration, socket, data and log

	inside threads       // of the namespace that it runs in; nil for our own
	cmd    *exec.Cmd     // the last start; nil before the first
	done   chan struct{} // closed when cmd has ended and was waited for
}

// newProcess prepares a server; it is not started yet.
func newProcess(bin string, tcp bool, conf []string) (*Server, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	s := &Server{network: "unix", addr: filepath.Join(dir, "redis.sock"), password: secret(conf)}
	lines := []string{"daemonize no", `logfile ""`, "dir " + dir, `save ""`, "appendonly no"}
	if tcp {
		port, err := freePort()
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		s.network, s.addr = "tcp", fmt.Sprintf("127.0.0.1:%d", port)
		lines = append(lines, "bind 127.0.0.1", fmt.Sprintf("port %d", port))
	} else {
		lines = append(lines, "port 0", "unixsocket "+s.addr, "unixsocketperm 700")
	}
	text := strings.Join(append(lines, conf...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "redis.conf"), []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.host = &process{bin: bin, dir: dir}
	return s, nil
}

func (p *process) Start() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.bin, filepath.Join(p.dir, "redis.conf"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithUs()

	started, done := make(chan error, 1), make(chan struct{})
	// Owned by p; ends with the child, which kill and remove end; done is closed then.
	go p.run(cmd, started, done)
	if err := <-started; err != nil {
		return err
	}
	p.cmd, p.done = cmd, done
	return nil
}

// run starts the command and waits for its end. It keeps its thread for all that time: Linux sends
// the child's death signal when the *thread* that started it ends, not the process.
func (p *process) run(cmd *exec.Cmd, started chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(done)
	live := func() error {
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // killed, as a rule; the log says the rest
		}
		return nil
	}
	if p.inside == nil {
		_ = live()
		return
	}
	if err := p.inside.run(live); err != nil {
		started <- err
	}
}

func (p *process) Kill() error {
	if p.Exited() {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

func (p *process) Remove() error { return errors.Join(p.Kill(), os.RemoveAll(p.dir)) }

func (p *process) Exited() bool {
	if p.cmd == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) Log() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *process) logFile() string { return filepath.Join(p.dir, "redis.log") }

func (p *process) Pid() int {
	if p.Exited() {
		return 0
	}
	return p.cmd.Process.Pid
}

// FreePort finds a port of 127.0.0.1 that nobody listens on, for something else than the server
// itself. Somebody may take it at any time.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return port
}

// freePort finds a port of 127.0.0.1 that nobody listens on. It stays below the range from which
// systems take the ports of outgoing connections: those could take it while the server is down,
// and a client that dials such a port can even end up connected to itself.
func freePort() (int, error) {
	for range 100 {
		port := 16384 + rand.IntN(16384)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1")
}
