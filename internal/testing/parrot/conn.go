package parrot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A Conn is a connection to a Redis, or to some proxy before it. Its replies are at hand as soon as a
// command was sent. The zero Conn says nothing odd. Close may be called from any goroutine, the other
// methods from one at a time.
type Conn struct {
	odd   string // the name of the command or script
	reply any    // to that one, the first time
	due   []any  // the replies that were not received yet

	said   *atomic.Bool // the odd reply was given; shared by all connections of a dialer
	closed atomic.Bool
}

// Dial returns what dials connections that have one odd reply: the first command or script of this name on
// any of them gets it. An error reply is a redis.Error.
func Dial(odd string, reply any) func(context.Context) (redis.Conn, error) {
	said := &atomic.Bool{}
	return func(context.Context) (redis.Conn, error) {
		return &Conn{odd: odd, reply: reply, said: said}, nil
	}
}

// Close ends the connection.
func (c *Conn) Close() error { c.closed.Store(true); return nil }

// Flush does nothing.
func (c *Conn) Flush() error { return c.Err() }

// Err returns an error once the connection is closed.
func (c *Conn) Err() error {
	if c.closed.Load() {
		return errors.New("closed")
	}
	return nil
}

// Do is not what a parrot does.
func (c *Conn) Do(string, ...any) (any, error) { return nil, errors.New("a parrot does not do") }

// Send finds the reply to a command.
func (c *Conn) Send(cmd string, args ...any) error {
	name := nameOf(cmd, args)
	reply := usual[name]
	if name == "look" {
		reply = looked(args)
	}
	if c.said != nil && name == c.odd && c.said.CompareAndSwap(false, true) {
		reply = c.reply
	}
	c.due = append(c.due, reply)
	return c.Err()
}

// Receive returns the replies in order, error replies as redigo does.
func (c *Conn) Receive() (any, error) {
	reply := c.due[0]
	c.due = c.due[1:]
	err := c.Err()
	if refused, ok := reply.(redis.Error); ok && err == nil {
		return nil, refused
	}
	return reply, err
}

// nameOf returns what a test calls a command: by its name, or by that of its script. What is said in two
// places has two names.
func nameOf(cmd string, args []any) string {
	switch {
	case slices.Contains(args, any("hash")):
		return "SCAN hash"
	case cmd == "CLIENT" && args[0] == "ID", cmd == "INFO" && len(args) > 0:
		return fmt.Sprint(cmd, " ", args[0]) // of the greeting
	case cmd == "EVALSHA" || cmd == "EVAL":
		for _, s := range scripts.All() {
			if args[0] == s.SHA1 || args[0] == s.Source {
				return s.Name
			}
		}
	}
	return cmd
}

// ID is the owner id that a parrot knows.
const ID = "host:1/01ARZ3NDEKTSV4RRFFQ69G5FAV"

// usual are the replies to commands and scripts: nil to all others.
var usual = map[string]any{
	"CLIENT":    "OK",
	"PING":      "PONG",
	"CLIENT ID": int64(1), "INFO server": []byte("run_id:parrot"),
	"SCAN hash": []any{[]byte("0"), []any{[]byte("lock-waiting:" + ID)}},
	"HGETALL":   []any{[]byte("job"), []byte("2"), []byte("job2"), []byte("0")},
	"TIME":      []any{[]byte("1700000000"), []byte("0")},
	"SCAN":      []any{[]byte("0"), []any{[]byte("lock:job")}},
	"acquire":   []byte("1700000000000000"), "release": []byte("released"), "repair": int64(0),
	"extend": []any{[]byte("ours"), []byte{}, int64(30_000)},
	"owner":  []any{[]byte(ID), int64(1000)},
	"take":   []any{},
	"reset":  []any{[]byte("reset"), []byte(ID), int64(2000)},

	"acquire_any":  []any{int64(1), []byte("1700000000000000")},
	"pool_members": []any{[]byte("a"), []byte("b")},
	"pool_assign":  []any{int64(1), int64(0)}, "pool_change": int64(1),
	"register": []any{[]byte("done"), nil},
}

// looked returns what the look script does where every lock is free.
func looked(args []any) any {
	left := []any{}
	for range args[1].(int) - 1 { // the last key is no lock, nor is an inbox
		left = append(left, int64(-2))
	}
	return left
}
