package redistest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisproc"
)

// ioLimit bounds each dial, read and write of this package's own connections, so that a test on a
// stopped server fails instead of hanging.
const ioLimit = 10 * time.Second

// A Server is one Redis. Its methods may be called from several goroutines at once, except that
// those which stop, kill or restart it are for one goroutine at a time.
type Server struct {
	network, addr      string // as net.Dial wants them; the same after a restart
	username, password string
	db                 int
	tls                bool

	host Host // what runs it; nil if the server is not ours
}

// Start runs a private server on a unix socket and removes it at the end of the test, which is
// skipped where there is no server program. Each conf is a line of redis.conf, such as
// "requirepass x"; it comes after, and so overrides, the default of no persistence.
func Start(t testing.TB, conf ...string) *Server {
	t.Helper()
	return startProcess(t, "unix", conf)
}

// StartTCP is Start on a free port of 127.0.0.1.
func StartTCP(t testing.TB, conf ...string) *Server {
	t.Helper()
	return startProcess(t, "tcp", conf)
}

func startProcess(t testing.TB, network string, conf []string) *Server {
	t.Helper()
	bin, err := Program()
	if err != nil {
		Skip(t, noServer{err}.Error())
	}
	return started(t, func() (*Server, error) { return newProcess(bin, network, conf) })
}

// At returns the server at a URL, which is not ours: a fake one, or one behind a proxy.
func At(t testing.TB, url string) *Server {
	t.Helper()
	s, err := parse(url)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return s
}

// started runs what make returns, for the time of one test.
func started(t testing.TB, make func() (*Server, error)) *Server {
	t.Helper()
	s, err := launch(make)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.host.Remove(); err != nil {
			t.Errorf("redistest: removing the server: %v", err)
		}
	})
	return s
}

// launch makes and starts a server. A free port may be taken by somebody else before Redis has it:
// then another one is tried.
func launch(make func() (*Server, error)) (*Server, error) {
	for try := 1; ; try++ {
		s, err := make()
		if err != nil {
			return nil, err
		}
		err = s.start()
		if err == nil {
			return s, nil
		}
		log := s.host.Log()
		err = errors.Join(err, s.host.Remove())
		if try == 5 || !strings.Contains(strings.ToLower(log+err.Error()), "already in use") {
			return nil, fmt.Errorf("the server did not start: %w; its log:\n%s", err, log)
		}
	}
}

// start runs the server and returns when it answers.
func (s *Server) start() error {
	if err := s.host.Start(); err != nil {
		return err
	}
	return s.ready()
}

// ready returns when the server answers and has loaded its data. Any other reply than LOADING is an
// answer, an error too: a server may be configured to refuse.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*ioLimit)
	defer cancel()
	err := redisproc.Await(ctx, s.ping, func() bool { return s.host != nil && s.host.Exited() })
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	return nil
}

func (s *Server) ping(context.Context) error {
	_, err := s.do("PING")
	var refused redis.Error
	if errors.As(err, &refused) && !strings.HasPrefix(string(refused), "LOADING") {
		return nil
	}
	return err
}

// parse makes a Server of a URL; of redis://, rediss:// and unix:// ones.
func parse(raw string) (*Server, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("malformed URL") // its own text would repeat the password
	}
	s := &Server{network: "tcp", addr: u.Host, username: u.User.Username()}
	s.password, _ = u.User.Password()
	db := strings.Trim(u.Path, "/")
	switch u.Scheme {
	case "redis", "rediss":
		s.tls = u.Scheme == "rediss"
		if u.Port() == "" {
			s.addr += ":6379"
		}
	case "unix":
		s.network, s.addr = "unix", u.Path
		db = u.Query().Get("db")
	default:
		return nil, fmt.Errorf("URL scheme %q, want redis, rediss or unix", u.Scheme)
	}
	if db != "" {
		if s.db, err = strconv.Atoi(db); err != nil {
			return nil, errors.New("the database in the URL is not a number")
		}
	}
	return s, nil
}

// URL is where the server is: redis://127.0.0.1:port/0 or unix:///path?db=0, with the password if
// it has one.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.addr, Path: "/" + strconv.Itoa(s.db)}
	switch {
	case s.network == "unix":
		u = url.URL{Scheme: "unix", Path: s.addr, RawQuery: "db=" + strconv.Itoa(s.db)}
	case s.tls:
		u.Scheme = "rediss"
	}
	if s.password != "" {
		u.User = url.UserPassword(s.username, s.password)
	}
	return u.String()
}

// Network and Addr are what net.Dial wants: "unix" and a path, or "tcp" and host:port.
func (s *Server) Network() string { return s.network }

// Addr is described at [Server.Network].
func (s *Server) Addr() string { return s.addr }

// Dial returns a connection of its own, authenticated and on the right database. It is closed at
// the end of the test, if not before.
func (s *Server) Dial(t testing.TB, options ...redis.DialOption) redis.Conn {
	t.Helper()
	c, err := s.dial(options...)
	if err != nil {
		t.Fatalf("redistest: dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Pool returns a pool without limits that is closed at the end of the test. Its fields may be
// changed before its first use.
func (s *Server) Pool(t testing.TB, options ...redis.DialOption) *redis.Pool {
	p := &redis.Pool{MaxIdle: 8, Dial: func() (redis.Conn, error) { return s.dial(options...) }}
	t.Cleanup(func() { p.Close() })
	return p
}

func (s *Server) dial(options ...redis.DialOption) (redis.Conn, error) {
	all := []redis.DialOption{
		redis.DialConnectTimeout(ioLimit),
		redis.DialReadTimeout(ioLimit),
		redis.DialWriteTimeout(ioLimit),
		redis.DialUsername(s.username), redis.DialPassword(s.password),
		redis.DialDatabase(s.db), redis.DialUseTLS(s.tls),
	}
	return redis.Dial(s.network, s.addr, append(all, options...)...)
}

// Do sends one command on a connection of its own and returns the reply. An error ends the test.
func (s *Server) Do(t testing.TB, command string, args ...any) any {
	t.Helper()
	reply, err := s.do(command, args...)
	if err != nil {
		t.Fatalf("redistest: %s: %v", command, err)
	}
	return reply
}

func (s *Server) do(command string, args ...any) (any, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(command, args...)
}

// Ready waits until the server answers and has loaded its data.
func (s *Server) Ready(t testing.TB) {
	t.Helper()
	if err := s.ready(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// Ours tells whether the server may be stopped, killed and reconfigured.
func (s *Server) Ours() bool { return s.host != nil }

// Pid is the server's process. Like all methods that need the process, it skips the test if the
// server is not ours.
func (s *Server) Pid(t testing.TB) int {
	t.Helper()
	s.need(t)
	pid := s.host.Pid()
	if pid == 0 {
		Skip(t, "the server has no process on this machine")
	}
	return pid
}

// Stop freezes the server as SIGSTOP does: connections stay, nothing is answered. [Server.Continue]
// lets it run on.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.control(t, "stop", Host.Pause) }

// Continue lets a stopped server run on.
func (s *Server) Continue(t testing.TB) { t.Helper(); s.control(t, "continue", Host.Resume) }

// Kill ends the server as SIGKILL does and returns when it is gone.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.control(t, "kill", Host.Kill) }

// Restart kills the server if it runs, starts it again at the same address and returns when it
// answers. Without persistence it is empty then.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.control(t, "kill", Host.Kill)
	if err := s.start(); err != nil {
		t.Fatalf("redistest: restart: %v; its log:\n%s", err, s.host.Log())
	}
}

func (s *Server) control(t testing.TB, what string, act func(Host) error) {
	t.Helper()
	s.need(t)
	if err := act(s.host); err != nil {
		t.Fatalf("redistest: %s: %v", what, err)
	}
}

func (s *Server) need(t testing.TB) {
	t.Helper()
	if s.host == nil {
		Skip(t, "needs a server of its own; this one is not ours to stop, see "+urlVariable)
	}
}

// secret finds the password that conf lines set.
func secret(conf []string) string {
	password := ""
	for _, line := range conf {
		if rest, ok := strings.CutPrefix(line, "requirepass "); ok {
			password = strings.Trim(strings.TrimSpace(rest), `"`)
		}
	}
	return password
}
