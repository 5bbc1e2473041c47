package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisproc"
	"github.com/holdfast-go/holdfast/lock"
)

// An env is a Redis of our own.
type env struct {
	rounds  int
	program string
	server  *redisproc.Process
	tcp     string // host:port
	unix    string // path
}

// answerIn bounds the start of the server.
const answerIn = 5 * time.Second

func start(program string, rounds int) (*env, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerIn)
	defer cancel()
	port, err := redisproc.FreePort()
	if err != nil {
		return nil, err
	}
	p, err := redisproc.Run(ctx, redisproc.Config{
		Program: program, Network: "unix",
		Lines: append(redisproc.InMemory(), "bind 127.0.0.1", fmt.Sprintf("port %d", port)),
	}, ping)
	if err != nil {
		return nil, fmt.Errorf("starting Redis (apt-get install redis-server?): %w", err)
	}
	tcp := fmt.Sprintf("127.0.0.1:%d", port)
	return &env{rounds: rounds, program: program, server: p, tcp: tcp, unix: p.Addr}, nil
}

func ping(_ context.Context, p *redisproc.Process) error {
	c, err := redis.Dial(p.Network, p.Addr, redis.DialReadTimeout(answerIn))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do("PING")
	return err
}

func (e *env) stop() { _ = e.server.Remove() }

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
