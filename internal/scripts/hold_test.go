package scripts

import (
	"fmt"
	"testing"
)

func TestExtend(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", 30_000, 60_000}

	onBoth(t, Extend, []test{
		{
			name: "less left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{1, 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "more left, within the longest", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 50_000}},
			want:  []any{1, ms(50_000)}, after: lock("me", ms(50_000)),
		},
		{
			name: "more left, beyond the longest", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 90_000}},
			want:  []any{1, 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{1, 30_000, -1}, after: lock("me", ms(30_000)),
		},
		{
			name: "ours, signal left alone", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"RPUSH", theSignal, "1"}},
			want:  []any{1, 30_000}, after: lock("me", ms(30_000)).and(theSignal, list(forever, "1")),
		},
		{
			name: "free", keys: keys, args: args,
			want: []any{0, nil}, after: state{},
		},
		{
			name: "free, signal there", keys: keys, args: args,
			given: []command{{"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000}},
			want:  []any{0, nil}, after: state{theSignal: list(ms(60_000), "1")},
		},
		{
			name: "free, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theSignal, "x"}},
			want:  []any{0, nil}, after: state{theSignal: text("x", forever)},
		},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{0, "you"}, after: lock("you", ms(10_000)),
		},
		{
			name: "taken by an id that begins like ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me/kept", "PX", 10_000}},
			want:  []any{0, "me/kept"}, after: lock("me/kept", ms(10_000)),
		},
		{
			name: "taken by something huge", keys: keys, args: args,
			given: []command{{"SET", theLock, huge}},
			want:  []any{0, cut}, after: lock(huge, forever),
		},
		{
			name: "taken by another, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}, {"HSET", theSignal, "f", "v"}},
			want:  []any{0, "you"},
			after: lock("you", forever).and(theSignal, hash(forever, map[string]string{"f": "v"})),
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"RPUSH", theLock, "x"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "x")},
		},
	})
}

// The fencing token is remembered for twice as long as the lock is to live, whether its TTL is set, kept or
// added to, and never for a shorter time than before.
func TestExtendRemembers(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal, theFence}
	const day, token = 24 * 3600 * 1000, "1700000000000007"
	extend := func(ttl any, fence command) test {
		return test{
			keys: keys, args: []any{"me", ttl, 400 * day, token},
			given: []command{{"SET", theLock, "me", "PX", day}, fence},
		}
	}
	with := func(t test, name string, ttl int64, fence span) test {
		t.name, t.want = name, []any{1, ms(ttl)}
		t.after = lock("me", ms(ttl)).and(theFence, text(token, fence))
		return t
	}
	week := command{"SET", theFence, token, "PX", 7 * day}
	onBoth(t, Extend, []test{
		with(extend(3*day, week), "half a week", 3*day, ms(7*day)),
		with(extend(4*day, week), "more than half a week", 4*day, ms(8*day)),
		with(extend(fmt.Sprint("+", 9*day), week), "more is added", 10*day, ms(20*day)),
		with(extend(366*day, week), "the longest", 366*day, ms(732*day)),
		with(extend(4*day, command{"SET", theFence, token, "PX", 100 * day}), "more left", 4*day, ms(100*day)),
		with(extend(4*day, command{"SET", theFence, token}), "without expiry", 4*day, forever),
		{
			name: "missing", keys: keys, args: []any{"me", 4 * day, 400 * day, token},
			given: []command{{"SET", theLock, "me", "PX", day}},
			want:  []any{1, 4 * day}, after: lock("me", ms(4*day)),
		},
	})
}

func TestOwner(t *testing.T) {
	t.Parallel()
	keys := []string{theLock}

	onBoth(t, Owner, []test{
		{name: "free", keys: keys, want: []any{}, after: state{}},
		{
			name: "taken", keys: keys,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
		{
			name: "taken without expiry", keys: keys,
			given: []command{{"SET", theLock, "you"}},
			want:  []any{"you", -1}, after: lock("you", forever),
		},
		{
			name: "taken by nobody's name", keys: keys,
			given: []command{{"SET", theLock, ""}},
			want:  []any{"", -1}, after: lock("", forever),
		},
		{
			name: "taken by something huge", keys: keys,
			given: []command{{"SET", theLock, huge}},
			want:  []any{cut, -1}, after: lock(huge, forever),
		},
		{
			name: "lock of a wrong type", keys: keys,
			given: []command{{"SADD", theLock, "x"}},
			want:  fails("WRONGTYPE"), after: state{theLock: key{"set", []string{"x"}, forever}},
		},
	})
}
