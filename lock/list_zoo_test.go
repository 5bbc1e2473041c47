package lock_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// zoo fills a database with what looks like locks under a prefix, and is not.
func zoo(t testing.TB, s *redistest.Server, prefix string) {
	t.Helper()
	own := id("me", time.Now())
	for _, place := range []string{prefix + "lock:", "lock:", "x" + prefix + "lock:", prefix} {
		s.Do(t, "RPUSH", place+"list", own)
		s.Do(t, "SADD", place+"set", own)
		s.Do(t, "ZADD", place+"zset", 1, own)
		s.Do(t, "HSET", place+"hash", own, own)
		s.Do(t, "XADD", place+"stream", "1-1", "id", own)
		s.Do(t, "PFADD", prefix+"lock-fence:"+place, own)
		s.Do(t, "SETBIT", prefix+"lock-signal:"+place, 7, 1)
	}
	for _, key := range []string{
		"lock:job", "x" + prefix + "lock:job", prefix + "Lock:job", prefix + "lock", prefix + "lock-:job",
		prefix + "lock-fence:job", prefix + "lock-inbox:job", prefix + "lock-waiting:me/job",
		prefix + "locks:job", prefix + "lockX:job", prefix + " lock:job",
		strings.ToUpper(prefix) + "lock:job", "appX[*]?^\\lock:job", "appX:lock:job", "app[*]?^\\:lock-x:lock:job",
	} {
		s.Do(t, "SET", key, own, "PX", 600_000)
	}
}

// A stored is what Redis holds under a key: its bytes, and until when.
type stored struct {
	dump    string
	expires time.Time // zero: never
}

// bytesOf returns all that Redis stores.
func bytesOf(t testing.TB, s *redistest.Server) map[string]stored {
	t.Helper()
	conn := s.Dial(t)
	defer conn.Close()
	found := map[string]stored{}
	for _, key := range s.Keys(t, "*") {
		dump, err := redis.String(conn.Do("DUMP", key))
		if err != nil {
			t.Fatal(err)
		}
		left, err := redis.Int64(conn.Do("PTTL", key))
		if err != nil {
			t.Fatal(err)
		}
		found[key] = stored{dump: dump}
		if left >= 0 {
			found[key] = stored{dump, time.Now().Add(time.Duration(left) * time.Millisecond)}
		}
	}
	return found
}

// same reports whether nothing was changed. An expiry is only as exact as the reading of it.
func (a stored) same(b stored) bool {
	return a.dump == b.dump && a.expires.IsZero() == b.expires.IsZero() &&
		a.expires.Sub(b.expires).Abs() < time.Minute
}

// List finds the locks and nothing else, and changes no byte of a database. ResetAll changes none of
// what is not a lock.
func TestListTouchesNothing(t *testing.T) {
	t.Parallel()
	const prefix = `app[*]?^\:`
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Prefix: prefix})
	zoo(t, s, prefix)
	strangers := bytesOf(t, s)
	names := []string{"*", "?", "[a]", `\`, "^", "a\x00\n", "lock-fence:x", "lock:y", "日本", "\xff"}
	for _, name := range names {
		s.Do(t, "SET", prefix+"lock:"+name, id("me", time.Now()))
	}
	before, counts := bytesOf(t, s), s.CommandCounts(t)
	for _, f := range []lock.Filter{{}, {All: true}, {Label: "me"}, {Name: "*"}} {
		got := listed(t, c, f)
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
			t.Errorf("%+v listed %q\nwant %q", f, got, want)
		}
	}
	for _, name := range names[2:9] { // the last is not UTF-8: no filter can name it
		if got := listed(t, c, lock.Filter{Name: name}); !slices.Equal(got, []string{name}) {
			t.Errorf("name %q listed %q", name, got)
		}
	}
	short := []string{"*", "?", `\`, "^", "\xff"}
	if got := listed(t, c, lock.Filter{Name: "?"}); !slices.Equal(got, short) {
		t.Errorf("a name of one byte listed %q", got)
	}
	once := s.CommandCounts(t)
	list(t, c, lock.Filter{})
	twice := s.CommandCounts(t)
	if n := twice["get"] - once["get"]; n != len(names) || twice["hgetall"] != 0 {
		t.Errorf("List of %d locks read %d keys and %d hashes", len(names), n, twice["hgetall"])
	}
	allowed := []string{
		"scan", "hgetall", "evalsha", "eval", "get", "pttl", "client|setname", "client|id", "client", "info",
		"select",
	}
	for command, n := range s.CommandCounts(t) {
		if n > counts[command] && !slices.Contains(allowed, command) {
			t.Errorf("List sent %s", command)
		}
	}
	if after := bytesOf(t, s); !maps.EqualFunc(after, before, stored.same) {
		t.Errorf("List changed something:\n%+v\nwas\n%+v", after, before)
	}
	resetTouchesNothing(t, s, c, len(names), strangers)
}

// resetTouchesNothing resets all n locks that there are, which must leave the strangers as they were.
func resetTouchesNothing(t *testing.T, s *redistest.Server, c *lock.Client, n int,
	strangers map[string]stored,
) {
	t.Helper()
	if reset, err := c.ResetAll(soon(t), lock.Filter{All: true}); err != nil || len(reset) != n {
		t.Errorf("ResetAll: %d, %v", len(reset), err)
	}
	after := bytesOf(t, s)
	for key, want := range strangers {
		if !after[key].same(want) {
			t.Errorf("ResetAll: %q is %+v, was %+v", key, after[key], want)
		}
	}
}
