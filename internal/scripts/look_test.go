package scripts

import (
	"fmt"
	"testing"
)

const waiting = "lock-waiting:me"

func TestLook(t *testing.T) {
	t.Parallel()
	one := []string{theLock, waiting}
	fields := func(pairs ...string) key {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return hash(ms(5000), m)
	}

	onBoth(t, Look, []test{
		{
			name: "locks in every state", keys: []string{"lock:free", "lock:a", "lock:b", "lock:c", waiting},
			given: []command{
				{"SET", "lock:a", "x", "PX", 10_000}, {"SET", "lock:b", "x"}, {"RPUSH", "lock:c", "x"},
			},
			args: []any{0},
			want: []any{-2, ms(10_000), -1, "foreign"},
			after: state{
				"lock:a": text("x", ms(10_000)), "lock:b": text("x", forever), "lock:c": list(forever, "x"),
			},
		},
		{
			name: "wrong type with a TTL", keys: one, args: []any{0},
			given: []command{{"RPUSH", theLock, "x"}, {"PEXPIRE", theLock, 10_000}},
			want:  []any{"foreign"}, after: state{theLock: list(ms(10_000), "x")},
		},
		{name: "no locks", keys: []string{waiting}, args: []any{0}, want: []any{}, after: state{}},
		{
			name: "wake", keys: []string{"lock-inbox:x:0"}, args: []any{"wake", 5000}, given: []command{{"LPUSH", "lock-inbox:x:0", "1"}},
			want: []any{}, after: state{"lock-inbox:x:0": list(ms(5000), "1")},
		},
		{
			name: "wake, first call", keys: []string{"lock-inbox:x:0"}, args: []any{"wake", 5000},
			want: []any{}, after: state{"lock-inbox:x:0": list(ms(5000), "1")},
		},
		{
			name: "wake, foreign inbox", keys: []string{"lock-inbox:x:0"}, args: []any{"wake", 5000},
			given: []command{{"SET", "lock-inbox:x:0", "x"}},
			want:  fails("WRONGTYPE"), after: state{"lock-inbox:x:0": text("x", forever)},
		},
		{
			name: "hash new", keys: one, args: []any{5000, "n", 2},
			want: []any{-2}, after: state{waiting: fields("n", "2")},
		},
		{
			name: "hash written whole", keys: one, args: []any{5000, "n", 2},
			given: []command{{"HSET", waiting, "other", 1, "n", 7}, {"PEXPIRE", waiting, 100}},
			want:  []any{-2}, after: state{waiting: fields("n", "2")},
		},
		{
			name: "hash not wanted", keys: one, args: []any{0, "n", 2},
			given: []command{{"HSET", waiting, "f", "v"}},
			want:  []any{-2}, after: state{waiting: foreign},
		},
		{
			name: "nothing for the hash", keys: one, args: []any{5000},
			given: []command{{"HSET", waiting, "f", "v"}},
			want:  []any{-2}, after: state{waiting: foreign},
		},
		{
			name: "hash of a foreign type", keys: one, args: []any{5000, "n", 2},
			given: []command{{"SET", waiting, "x"}, {"SET", theLock, "you"}},
			want:  []any{-1}, after: state{waiting: text("x", forever), theLock: text("you", forever)},
		},
		{
			name: "names of any bytes", keys: one, args: []any{5000, "a\x00b\r\n ü", 1},
			want: []any{-2}, after: state{waiting: fields("a\x00b\r\n ü", "1")},
		},
		sixtyFour(),
	})
}

// sixtyFour is the row with as many names as one wait connection has.
func sixtyFour() test {
	test := test{name: "as many as fit", args: []any{5000}, want: []any{}}
	counts := map[string]string{}
	var left []any
	for i := range 64 {
		name := fmt.Sprintf("n%02d", i)
		test.keys = append(test.keys, "lock:"+name)
		test.args = append(test.args, name, i)
		counts[name] = fmt.Sprint(i)
		left = append(left, -2)
	}
	test.keys = append(test.keys, waiting)
	test.want = left
	test.after = state{waiting: hash(ms(5000), counts)}
	return test
}
