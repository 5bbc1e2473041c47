package redistest

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// A Key is what Redis holds under one key.
type Key struct {
	Type string // as TYPE says
	// Value is a string, a []string (list in order, set sorted, zset by score, without scores) or a
	// map[string]string (hash). It is nil for other types.
	Value any
	PTTL  int64 // milliseconds left; -1: does not expire
}

// Keys returns the keys that match a pattern, sorted. It uses SCAN.
func (s *Server) Keys(t testing.TB, pattern string) []string {
	t.Helper()
	keys, err := s.scan(pattern)
	if err != nil {
		t.Fatalf("redistest: scan: %v", err)
	}
	slices.Sort(keys)
	return keys
}

// Dump returns what is stored under the keys that match any of the patterns, all keys if there is
// none. Keys that expire while it looks are left out.
func (s *Server) Dump(t testing.TB, patterns ...string) map[string]Key {
	t.Helper()
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	c := s.Dial(t)
	defer c.Close()
	dump := map[string]Key{}
	for _, pattern := range patterns {
		for _, name := range s.Keys(t, pattern) {
			key, err := inspect(c, name)
			if err != nil {
				t.Fatalf("redistest: reading %q: %v", name, err)
			}
			if key.Type != "none" {
				dump[name] = key
			}
		}
	}
	return dump
}

// inspect reads one key in one transaction per look, and looks again if its type changed between.
func inspect(c redis.Conn, name string) (Key, error) {
	kind, err := redis.String(c.Do("TYPE", name))
	if err != nil || kind == "none" {
		return Key{Type: "none"}, err
	}
	read, known := readers[kind]
	if !known {
		pttl, err := redis.Int64(c.Do("PTTL", name))
		return Key{Type: kind, PTTL: pttl}, err
	}
	_ = c.Send("MULTI") // errors of Send come back from Do
	_ = c.Send("TYPE", name)
	_ = c.Send(read.command, append([]any{name}, read.args...)...)
	_ = c.Send("PTTL", name)
	replies, err := redis.Values(c.Do("EXEC"))
	if err != nil {
		return Key{}, err
	}
	if now, _ := redis.String(replies[0], nil); now != kind {
		return inspect(c, name)
	}
	value, err := read.decode(replies[1])
	if err != nil {
		return Key{}, err
	}
	pttl, err := redis.Int64(replies[2], nil)
	return Key{Type: kind, Value: value, PTTL: pttl}, err
}

var readers = map[string]struct {
	command string
	args    []any
	decode  func(any) (any, error)
}{
	"string": {"GET", nil, func(r any) (any, error) { return redis.String(r, nil) }},
	"list":   {"LRANGE", []any{0, -1}, func(r any) (any, error) { return redis.Strings(r, nil) }},
	"zset":   {"ZRANGE", []any{0, -1}, func(r any) (any, error) { return redis.Strings(r, nil) }},
	"hash":   {"HGETALL", nil, func(r any) (any, error) { return redis.StringMap(r, nil) }},
	"set": {"SMEMBERS", nil, func(r any) (any, error) {
		members, err := redis.Strings(r, nil)
		slices.Sort(members)
		return members, err
	}},
}

// Clients counts the connections whose CLIENT SETNAME name begins with prefix.
func (s *Server) Clients(t testing.TB, prefix string) int {
	t.Helper()
	list, err := redis.String(s.Do(t, "CLIENT", "LIST"), nil)
	if err != nil {
		t.Fatalf("redistest: CLIENT LIST: %v", err)
	}
	n := 0
	for line := range strings.Lines(list) {
		for field := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(field, "name="); ok && strings.HasPrefix(name, prefix) {
				n++
			}
		}
	}
	return n
}

// Blocked waits until n connections, of anybody, block in Redis.
func (s *Server) Blocked(t testing.TB, n int) {
	t.Helper()
	c := s.Dial(t)
	defer c.Close()
	Until(t, fmt.Sprintf("%d connections block", n), func() bool {
		reply, err := c.Do("INFO", "clients")
		return blocked(t, reply, err) == n
	})
}

// BlockedNow returns how many connections, of anybody, block in Redis.
func (s *Server) BlockedNow(t testing.TB) int {
	t.Helper()
	return blocked(t, s.Do(t, "INFO", "clients"), nil)
}

// blocked reads what INFO says of connections that block.
func blocked(t testing.TB, reply any, err error) int {
	t.Helper()
	info, err := redis.String(reply, err)
	if err != nil {
		t.Fatalf("redistest: INFO: %v", err)
	}
	_, rest, _ := strings.Cut(info, "\nblocked_clients:")
	digits, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("redistest: INFO has no blocked_clients: %v", err)
	}
	return n
}

// CommandCounts tells how often each command ran since the server's start, those inside scripts
// too. Commands have lower-case names; subcommands have names like "client|list" (from Redis 7 on).
func (s *Server) CommandCounts(t testing.TB) map[string]int {
	t.Helper()
	info, err := redis.String(s.Do(t, "INFO", "commandstats"), nil)
	if err != nil {
		t.Fatalf("redistest: INFO: %v", err)
	}
	counts := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), "cmdstat_")
		name, stats, _ := strings.Cut(rest, ":calls=")
		calls, _, _ := strings.Cut(stats, ",")
		n, err := strconv.Atoi(calls)
		if !ok || err != nil {
			continue
		}
		counts[name] = n
	}
	return counts
}
