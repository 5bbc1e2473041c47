package scripts

import (
	"slices"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// tried are all commands that probe knows.
var tried = []any{
	"DEL", "EXISTS", "GET", "HGETALL", "HSET", "LLEN", "LPUSH", "LREM", "PERSIST", "PEXPIRE", "PTTL", "SET",
	"TYPE",
}

func TestProbe(t *testing.T) {
	t.Parallel()
	keys := []string{theLock}
	onBoth(t, Probe, []test{
		{
			name: "everything allowed", keys: keys, args: tried,
			want:  slices.Repeat([]any{"ok"}, len(tried)),
			after: state{},
		},
		{name: "nothing asked", keys: keys, want: []any{}, after: state{}},
		{
			name: "what makes the key, first and last", keys: keys,
			args: []any{"LPUSH", "HSET", "LPUSH"}, want: []any{"ok", "ok", "ok"}, after: state{},
		},
		{
			name: "a key in use", keys: keys, args: tried,
			given: []command{{"SET", theLock, "me"}},
			want:  fails("ERR"), after: lock("me", forever),
		},
		{
			name: "a key of another type in use", keys: keys, args: tried,
			given: []command{{"RPUSH", theLock, "x"}},
			want:  fails("ERR"), after: state{theLock: list(forever, "x")},
		},
		{
			name: "a command that it does not know", keys: keys, args: []any{"GET", "FLUSHALL"},
			given: []command{{"SET", theFence, "7"}},
			want:  fails("ERR"), after: state{theFence: text("7", forever)},
		},
	})
}

// TestProbeMissingRights takes each command away in turn: it is told, all others are ok unless they
// would leave the key behind, and nothing is left.
func TestProbeMissingRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for i, right := range tried {
		s.Do(t, "FLUSHALL")
		s.Do(t, "ACL", "SETUSER", "u", "reset", "on", "nopass", "~*", "+@all", "-"+right.(string))
		c := s.Dial(t)
		if _, err := c.Do("AUTH", "u", "any"); err != nil {
			t.Fatal(err)
		}
		got, err := redis.Strings(call(c, Probe, []string{theLock}, tried))
		if err != nil {
			t.Fatalf("without %v: %v", right, err)
		}
		for n, answer := range got {
			left := right == "DEL" && (tried[n] == "HSET" || tried[n] == "LPUSH")
			if ok := n != i && !left; ok != (answer == "ok") {
				t.Errorf("without %v: %v: %s", right, tried[n], answer)
			}
		}
		if keys := s.Keys(t, "*"); len(keys) != 0 {
			t.Errorf("without %v: left behind %q", right, keys)
		}
	}
}
