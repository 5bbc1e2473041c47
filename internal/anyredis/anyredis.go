// Package anyredis finds a Redis for programs that show something on any machine: the demo and the
// examples. The first of these is used:
//
//  1. the server that REDIS_URL names;
//  2. a private redis-server or valkey-server from PATH, on a unix socket;
//  3. miniredis inside this process, on a loopback port, with its clock running.
//
// What the last two start ends with the program. Of a server at REDIS_URL nothing is touched but
// the keys under [Redis.Prefix].
package anyredis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// Variable is the environment variable with the URL of the server to use. A program that found a
// server hands it to its child processes in this variable: a URL can have a password, and anybody
// can read a command line.
const Variable = "REDIS_URL"

// limit bounds everything that this package does with a server.
const limit = 5 * time.Second

// A Redis is a server that was found, or started. Close it at the end.
type Redis struct {
	URL    string // for lock.Open
	About  string // which one it is, in one line, without its password
	Prefix string // for lock.Options: no other program's keys begin with it

	stop func() error
}

// Find returns the server to use. It fails if REDIS_URL names a server that does not answer, rather
// than to take another one; and when ctx ends.
func Find(ctx context.Context) (*Redis, error) {
	r := &Redis{Prefix: "holdfast-" + strings.ToLower(rand.Text()[:10]) + ":"}
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Redis) find(ctx context.Context) error {
	if r.URL = os.Getenv(Variable); r.URL != "" {
		return r.foreign(ctx)
	}
	none := r.private(ctx)
	switch {
	case none == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return r.embedded(none)
}

// Close ends a server that Find started, and deletes this program's keys from any other. Everybody
// who uses them must have ended before.
func (r *Redis) Close() error { return r.stop() }

// foreign takes the server at REDIS_URL.
func (r *Redis) foreign(ctx context.Context) error {
	if err := ping(ctx, r.URL); err != nil {
		return fmt.Errorf("the server that %s names cannot be used: %w", Variable, err)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return errors.New("bug: a URL that was dialled cannot be parsed")
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: u.RawQuery}
	r.About = fmt.Sprintf("the server at %s, from %s", &shown, Variable)
	r.stop = func() error { return sweep(r.URL, r.Prefix) }
	return nil
}

// embedded starts a server inside this process.
func (r *Redis) embedded(why error) error {
	m := inmemory.Miniredis()
	if err := m.Start(); err != nil {
		return fmt.Errorf("no embedded Redis: %w", err)
	}
	r.URL = "redis://" + m.Addr()
	r.About = fmt.Sprintf("an embedded one in this process (miniredis): no %s, %v", Variable, why)
	r.stop = func() error { m.Close(); return nil }
	return nil
}

// ping asks whether a server answers.
func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = redis.DoContext(c, ctx, "PING")
	return err
}

func dial(ctx context.Context, url string) (redis.Conn, error) {
	dialer, err := redisconn.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return dialer.Connect(ctx)
}

// sweep deletes the keys that begin with a prefix, which has no characters that mean something in a
// pattern.
func sweep(url, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	for cursor := "0"; ; {
		reply, err := redis.Values(
			redis.DoContext(c, ctx, "SCAN", cursor, "MATCH", prefix+"*", "COUNT", 1000))
		if err != nil {
			return err
		}
		var keys []any
		if _, err := redis.Scan(reply, &cursor, &keys); err != nil {
			return err
		}
		if len(keys) > 0 {
			if _, err := redis.DoContext(c, ctx, "DEL", keys...); err != nil {
				return err
			}
		}
		if cursor == "0" {
			return nil
		}
	}
}
