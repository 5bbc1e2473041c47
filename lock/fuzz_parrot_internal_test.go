package lock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A parrot is a connection to a Redis, or to some proxy before it, that answers as a free lock would,
// except that one command, or one script, gets whatever the fuzzer made up.
type parrot struct {
	odd     string // the name of the command or script
	reply   any    // to that one, the first time
	waiting []any  // the replies that are due

	said   *atomic.Bool // the reply was given; shared by all connections of a client
	closed atomic.Bool  // Close comes from any goroutine
}

func (p *parrot) Close() error { p.closed.Store(true); return nil }
func (p *parrot) Flush() error { return p.Err() }

func (p *parrot) Err() error {
	if p.closed.Load() {
		return errors.New("closed")
	}
	return nil
}

func (p *parrot) Do(string, ...any) (any, error) { return nil, errors.New("a parrot does not do") }

func (p *parrot) Send(cmd string, args ...any) error {
	name := cmd
	if cmd == "EVALSHA" || cmd == "EVAL" {
		for _, s := range scripts.All() {
			if args[0] == s.SHA1 || args[0] == s.Source {
				name = s.Name
			}
		}
	}
	switch {
	case slices.Contains(args, any("hash")):
		name = "SCAN hash"
	case cmd == "CLIENT" && args[0] == "ID", cmd == "INFO" && len(args) > 0:
		name = fmt.Sprint(cmd, " ", args[0]) // of the greeting
	}
	reply := parrotReplies[name]
	if name == "look" {
		reply = parrotLook(args)
	}
	if name == p.odd && p.said.CompareAndSwap(false, true) {
		reply = p.reply
	}
	p.waiting = append(p.waiting, reply)
	return p.Err()
}

// parrotLook returns what the look script does where every lock is free.
func parrotLook(args []any) any {
	left := []any{}
	for range args[1].(int) - 1 { // the last key is no lock, nor is an inbox
		left = append(left, int64(-2))
	}
	return left
}

// Receive returns error replies as redigo does.
func (p *parrot) Receive() (any, error) {
	reply := p.waiting[0]
	p.waiting = p.waiting[1:]
	err := p.Err()
	if refused, ok := reply.(redis.Error); ok && err == nil {
		return nil, refused
	}
	return reply, err
}

const parrotID = "host:1/01ARZ3NDEKTSV4RRFFQ69G5FAV"

var parrotReplies = map[string]any{
	"CLIENT":    "OK",
	"CLIENT ID": int64(1), "INFO server": []byte("run_id:parrot"),
	"SCAN hash": []any{[]byte("0"), []any{[]byte("lock-waiting:" + parrotID)}},
	"HGETALL":   []any{[]byte("job"), []byte("2"), []byte("job2"), []byte("0")},
	"TIME":      []any{[]byte("1700000000"), []byte("0")},
	"SCAN":      []any{[]byte("0"), []any{[]byte("lock:job")}},
	"acquire":   []byte("1700000000000000"), "release": []byte("released"), "repair": int64(0),
	"extend": []any{[]byte("ours"), []byte(""), int64(30_000)},
	"owner":  []any{[]byte(parrotID), int64(1000)},
	"take":   []any{},
	"reset":  []any{[]byte("reset"), []byte(parrotID), int64(1000)},
}

func fuzzClient(t *testing.T, odd string, reply any) *Client {
	t.Helper()
	said := &atomic.Bool{}
	pool := &redis.Pool{DialContext: func(context.Context) (redis.Conn, error) {
		return &parrot{odd: odd, reply: reply, said: said}, nil
	}}
	c, err := New(pool, &Options{TTL: time.Minute, Margin: time.Millisecond, NoRenewal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func fuzzText(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}

// fuzzWords are what replies consist of.
var fuzzWords = []string{
	"0", "1", "-1", "+1", "01", "9007199254740991", "9007199254740993", "17950000000000000000", "1.5", "", " 1", "OK",
	parrotID, parrotID + "/kept", "lock:job", "lock-signal:job", "lock-waiting:x/y", "-1e3", "1_000", "0x1",
	"ours", "bare", "other", "free", "released", "not held", "handed on", "reset", "foreign", "others",
	"WRONGTYPE x", "READONLY x", "NOSCRIPT x", "LOADING x", "ERR x", "NOPERM x",
}

const fuzzErrors = 30 // from here on they are errors

var fuzzNumbers = []int64{0, 1, 2, -1, -2, -3, -4, 1000, 9223372036855, 1<<63 - 1, -1 << 63}

// fuzzReply makes a reply, of every kind that redigo knows, of what the fuzzer made up.
func fuzzReply(data []byte, depth int) (reply any, rest []byte) {
	if len(data) < 2 {
		return nil, nil
	}
	kind, n, rest := data[0]%8, int(data[1]), data[2:]
	word := fuzzWords[n%len(fuzzWords)]
	switch {
	case kind == 0:
		return nil, rest
	case kind == 1:
		return fuzzNumbers[n%len(fuzzNumbers)], rest
	case kind == 2 && len(rest) >= 8:
		return int64(binary.BigEndian.Uint64(rest)), rest[8:]
	case kind == 3:
		return []byte(word), rest
	case kind == 4:
		n = min(n, len(rest))
		return rest[:n:n], rest[n:]
	case kind == 5:
		return word, rest
	case kind == 6:
		return redis.Error(word), rest
	case depth > 4:
		return nil, rest
	}
	parts := make([]any, n%6)
	for i := range parts {
		parts[i], rest = fuzzReply(rest, depth+1)
	}
	return parts, rest
}

// fuzzSeeds are values in the places that replies have. What stands after a value fills what it takes.
func fuzzSeeds() [][]byte {
	var values, seeds [][]byte
	for n := range byte(len(fuzzNumbers)) {
		values = append(values, []byte{1, n})
	}
	for n := range byte(len(fuzzWords)) {
		values = append(values, []byte{3, n})
	}
	for n := fuzzErrors; n < len(fuzzWords); n++ {
		values = append(values, []byte{6, byte(n)})
	}
	values = append(values, []byte{0, 0}, []byte{5, 0}, []byte{5, 11}, []byte{7, 0}, []byte{7, 1, 1, 1})
	for _, value := range values {
		for _, before := range [][]byte{
			nil,                          // value
			{7, 1},                       // {value}
			{7, 2, 1, 0},                 // {0, value}
			{7, 2, 1, 1},                 // {1, value}
			{7, 2, 3, 12},                // {owner, value}
			{7, 3, 3, 20, 3, 9},          // {"ours", "", value}
			{7, 3, 3, 21, 3, 9},          // {"bare", "", value}
			{7, 3, 3, 22, 3, 12},         // {"other", owner, value}
			{7, 3, 3, 23, 3, 9},          // {"free", "", value}
			{7, 3, 3, 27, 3, 12},         // {"reset", owner, value}
			{7, 2, 3, 0, 7, 2, 3, 14},    // {"0", {key, value}}
			{7, 2, 3, 1, 7, 0, 7, 2},     // {"1", {}}
			{7, 3, 1, 0, 3, 12, 1, 7, 0}, // {0, owner, 1000}
		} {
			seeds = append(seeds, append(before, value...))
		}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 3, 0))           // {value, "0"}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 1, 7))           // {value, 1000}
		seeds = append(seeds, append(append([]byte{7, 3}, value...), 3, 12, 1, 7))    // {value, owner, 1000}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 7, 1, 3, 14))    // {value, {key}}
		seeds = append(seeds, append(append([]byte{7, 2, 1, 1}, value...), value...)) // {1, value}, and rest
	}
	return seeds
}

// fuzzShow writes a reply so that one can read it and tell its kinds apart.
func fuzzShow(reply any) string {
	switch v := reply.(type) {
	case []byte:
		return fmt.Sprintf("$%q", v)
	case string:
		return fmt.Sprintf("+%q", v)
	case redis.Error:
		return fmt.Sprintf("-%q", string(v))
	case []any:
		var parts []string
		for _, part := range v {
			parts = append(parts, fuzzShow(part))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(reply)
}
