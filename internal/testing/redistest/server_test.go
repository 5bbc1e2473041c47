package redistest_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/redistest/lifecycle"
)

func TestLifecycle(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]lifecycle.Starter{
		"unix socket": redistest.Start, "tcp": redistest.StartTCP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lifecycle.Run(t, start)
		})
	}
}

func TestServersAreApart(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t), redistest.Start(t)
	one.Do(t, "SET", "k", "v")
	if keys := two.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("a new server has %q", keys)
	}
}

func TestRemovedAtTheEnd(t *testing.T) {
	t.Parallel()
	var s *redistest.Server
	t.Run("inside", func(t *testing.T) { s = redistest.Start(t) })
	if s == nil {
		redistest.Skip(t, "there was no server inside")
	}
	if _, err := os.Stat(s.Addr()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its test the server's socket: %v, want none", err)
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, command := range []string{
		"SET a text", "PEXPIRE a 60000", "RPUSH b 2 1", "HSET c field value", "SADD d y x",
		"ZADD e 2 y 1 x", "XADD f * k v",
	} {
		word := strings.Fields(command)
		var args []any
		for _, arg := range word[1:] {
			args = append(args, arg)
		}
		s.Do(t, word[0], args...)
	}
	dump := s.Dump(t)
	if a := dump["a"]; a.PTTL <= 50_000 || a.PTTL > 60_000 {
		t.Errorf("a has %d ms left, want about 60000", a.PTTL)
	}
	dump["a"] = redistest.Key{Type: "string", Value: dump["a"].Value}
	want := map[string]redistest.Key{
		"a": {Type: "string", Value: "text"},
		"b": {Type: "list", Value: []string{"2", "1"}, PTTL: -1},
		"c": {Type: "hash", Value: map[string]string{"field": "value"}, PTTL: -1},
		"d": {Type: "set", Value: []string{"x", "y"}, PTTL: -1},
		"e": {Type: "zset", Value: []string{"x", "y"}, PTTL: -1},
		"f": {Type: "stream", PTTL: -1},
	}
	if !reflect.DeepEqual(dump, want) {
		t.Errorf("dump:\n%v\nwant:\n%v", dump, want)
	}
	if got := s.Dump(t, "[ab]", "c"); len(got) != 3 {
		t.Errorf("the dump of a, b and c: %v", got)
	}
}

func TestKeysOfManyPages(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for i := range 2500 {
		s.Do(t, "SET", fmt.Sprintf("k%04d", i), i)
	}
	keys := s.Keys(t, "k*")
	if len(keys) != 2500 || keys[0] != "k0000" || keys[2499] != "k2499" {
		t.Errorf("%d keys, want all 2500 in order", len(keys))
	}
}

func TestClientsAndCommandCounts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, name := range []string{"holdfast:a", "holdfast:b", "other"} {
		if _, err := s.Dial(t).Do("CLIENT", "SETNAME", name); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Clients(t, "holdfast:"); got != 2 {
		t.Errorf("%d clients holdfast:*, want 2", got)
	}
	before := s.CommandCounts(t)["set"]
	s.Do(t, "SET", "k", 1)
	s.Do(t, "EVAL", "return redis.call('SET', KEYS[1], 2)", 1, "k")
	if got := s.CommandCounts(t)["set"] - before; got != 2 {
		t.Errorf("SET counted %d times, want 2", got)
	}
}

func text(reply any) string {
	s, _ := redis.String(reply, nil)
	return s
}
