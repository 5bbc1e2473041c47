package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// An env is a Redis of our own.
type env struct {
	rounds int
	dir    string
	server *exec.Cmd
	tcp    string // host:port
	unix   string // path
}

func start(server string, rounds int) (*env, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // asks for a free port
	if err != nil {
		return nil, err
	}
	tcp := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(tcp)
	e := &env{rounds: rounds, dir: dir, tcp: tcp, unix: filepath.Join(dir, "s")}
	e.server = exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--unixsocket", e.unix,
		"--save", "", "--appendonly", "no", "--dir", dir)
	if err := e.server.Start(); err != nil {
		return nil, fmt.Errorf("starting Redis (apt-get install redis-server?): %w", err)
	}
	for range 200 {
		if conn, err := redis.Dial("tcp", tcp); err == nil {
			return e, conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	e.stop()
	return nil, errors.New("the Redis that was started does not answer")
}

func (e *env) stop() {
	_ = e.server.Process.Kill()
	_ = e.server.Wait()
	_ = os.RemoveAll(e.dir)
}

// pool is what the hand-written peers use.
func (e *env) pool(network string) *redis.Pool {
	address := map[string]string{"tcp": e.tcp, "unix": e.unix}[network]
	return &redis.Pool{
		MaxIdle: 128,
		Dial:    func() (redis.Conn, error) { return redis.Dial(network, address) },
	}
}

func (e *env) client(network string, o *lock.Options) (*lock.Client, error) {
	if network == "unix" {
		return lock.Open("unix://"+e.unix, o)
	}
	return lock.Open("redis://"+e.tcp, o)
}
