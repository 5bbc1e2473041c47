package scripts

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// The keys that most cases use.
const (
	theLock   = "lock:n"
	theSignal = "lock-signal:n"
	theFence  = "lock-fence:n"
)

// A test is one row of a table: what is in Redis, one call, its reply, and what is there then.
type test struct {
	name  string
	given []command
	keys  []string
	args  []any
	want  any   // the reply; see match
	after state // every key afterwards

	realOnly string // why the row does not run on miniredis
}

// A command is a command of Redis and its arguments.
type command []any

// A state is what Redis holds, key by key.
type state map[string]key

// A key is what is under one key: its type, its value as redistest.Key has it (or something else
// that match knows), and the milliseconds it has left (-1: it does not expire).
type key struct {
	kind  string
	value any
	pttl  span
}

// What the matchers of a reply or a value say.
type (
	span  struct{ min, max int64 } // a number within
	fails string                   // an error with this code as a word of its text
	clock struct{}                 // the server's time in µs, during the call
)

// ms is a TTL that was set moments ago.
func ms(ttl int64) span { return span{max(0, ttl-5000), ttl} }

var forever = span{-1, -1}

func text(value any, pttl span) key                { return key{"string", value, pttl} }
func list(pttl span, elements ...string) key       { return key{"list", elements, pttl} }
func hash(pttl span, fields map[string]string) key { return key{"hash", fields, pttl} }

func lock(owner string, pttl span) state { return state{theLock: text(owner, pttl)} }

// and returns the state with another key.
func (s state) and(name string, k key) state {
	s = maps.Clone(s)
	s[name] = k
	return s
}

// onBoth runs a table on a real server and on miniredis, which must give the same replies.
func onBoth(t *testing.T, script Script, tests []test) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				s.Do(t, "FLUSHALL")
				test.run(t, s, script)
			})
		}
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				if test.realOnly != "" {
					redistest.Skip(t, "miniredis: "+test.realOnly)
				}
				m := miniredis.RunT(t)
				m.ClockTTL(true)
				test.run(t, redistest.At(t, "redis://"+m.Addr()), script)
			})
		}
	})
}

func (test test) run(t *testing.T, s *redistest.Server, script Script) {
	t.Helper()
	c := s.Dial(t)
	give(t, c, test.given)
	before := now(t, c)
	reply, err := call(c, script, test.keys, test.args)
	during := span{before, now(t, c)}
	if problem := match(reply, err, test.want, during); problem != "" {
		t.Errorf("reply: %s", problem)
	}
	if args := argsOf(script.SHA1, test.keys, test.args); err == nil && !script.Fits(args, reply) {
		t.Errorf("the reply %v does not fit the script", reply)
	}
	checkState(t, s, test.after, during)
}

func give(t *testing.T, c redis.Conn, given []command) {
	t.Helper()
	for _, command := range given {
		if _, err := c.Do(command[0].(string), command[1:]...); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
}

func now(t *testing.T, c redis.Conn) int64 {
	t.Helper()
	time, err := redis.Int64s(c.Do("TIME"))
	if err != nil {
		t.Fatal(err)
	}
	return time[0]*1_000_000 + time[1]
}

// call runs a script as clients do.
func call(c redis.Conn, script Script, keys []string, args []any) (any, error) {
	reply, err := c.Do("EVALSHA", argsOf(script.SHA1, keys, args)...)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		reply, err = c.Do("EVAL", argsOf(script.Source, keys, args)...)
	}
	return reply, err
}

// argsOf returns the arguments of EVALSHA or EVAL.
func argsOf(what string, keys []string, args []any) []any {
	all := []any{what, len(keys)}
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}

// checkState compares everything that the server has with what it should have.
func checkState(t *testing.T, s *redistest.Server, want state, during span) {
	t.Helper()
	got := s.Dump(t)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there: %s", name, show(got[name].Value))
		}
	}
	for name, want := range want {
		got, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is not there, want %s", name, show(want.value))
		case got.Type != want.kind:
			t.Errorf("%s is a %s, want a %s", name, got.Type, want.kind)
		case got.PTTL < want.pttl.min || got.PTTL > want.pttl.max:
			t.Errorf("%s has %d ms left, want %v", name, got.PTTL, want.pttl)
		default:
			if problem := match(got.Value, nil, want.value, during); problem != "" {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// match compares what came with what should, and says what is wrong.
func match(got any, err error, want any, during span) string {
	if code, ok := want.(fails); ok {
		if !hasCode(err, string(code)) {
			return fmt.Sprintf("%s, error %v; want an error with %s", show(got), err, code)
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if !matches(got, want, during) {
		return fmt.Sprintf("%s, want %s", show(got), show(want))
	}
	return ""
}

func matches(got, want any, during span) bool {
	switch want := want.(type) {
	case span:
		n, ok := integer(got)
		return ok && want.min <= n && n <= want.max
	case clock:
		return matches(got, during, during)
	case []any:
		replies, ok := got.([]any)
		return ok && slices.EqualFunc(replies, want, func(g, w any) bool { return matches(g, w, during) })
	case int:
		return got == int64(want)
	case string:
		s, err := redis.String(got, nil)
		return err == nil && s == want
	default:
		return reflect.DeepEqual(got, want)
	}
}

// show writes a reply or value for people: text quoted, and not more of it than they can read.
func show(value any) string {
	switch value := value.(type) {
	case []any:
		var all []string
		for _, one := range value {
			all = append(all, show(one))
		}
		return "{" + strings.Join(all, ", ") + "}"
	case string, []byte:
		return fmt.Sprintf("%.100q", value)
	case span:
		return fmt.Sprintf("%d to %d", value.min, value.max)
	}
	return fmt.Sprint(value)
}

// integer reads a whole number, written in digits only if it comes as text.
func integer(got any) (int64, bool) {
	switch got := got.(type) {
	case int64:
		return got, true
	case string:
		n, err := strconv.ParseInt(got, 10, 64)
		return n, err == nil
	case []byte:
		return integer(string(got))
	}
	return math.MinInt64, false
}

// hasCode tells whether a code is a word of an error's text. Redis before 7 and miniredis put other
// text before it when it comes out of a script.
func hasCode(err error, code string) bool {
	var refused redis.Error
	return errors.As(err, &refused) && regexp.MustCompile(`\b`+code+`\b`).MatchString(string(refused))
}
