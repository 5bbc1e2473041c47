package scripts

import "testing"

func TestTake(t *testing.T) {
	t.Parallel()
	keys := []string{"lock-signal:a", "lock-signal:b", "lock-signal:c", "lock-signal:{p}/"}
	onBoth(t, Take, []test{
		{name: "none", keys: keys, want: []any{}, after: state{}},
		{
			name: "some", keys: keys, want: []any{1, 3},
			given: []command{{"LPUSH", keys[0], "1"}, {"LPUSH", keys[2], "1", "1"}},
			after: state{},
		},
		{
			name: "of a pool", keys: keys, want: []any{4},
			given: []command{{"RPUSH", keys[3], "m", "1", "n"}, {"PEXPIRE", keys[3], 1000}},
			after: state{keys[3]: list(ms(1000), "m", "n")},
		},
		{
			name: "beside a foreign key", keys: keys, want: []any{2},
			given: []command{{"SET", keys[0], "x"}, {"LPUSH", keys[1], "1"}},
			after: state{keys[0]: text("x", forever)},
		},
	})
}
