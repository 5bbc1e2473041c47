package scripts

import "testing"

func TestExtend(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", "to", 30_000, 0}

	onBoth(t, Extend, []test{
		{
			name: "less left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "more left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 50_000}},
			want:  []any{"ours", "", ms(50_000)}, after: lock("me", ms(50_000)),
		},
		{
			name: "far more left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", int64(1) << 60}},
			want:  []any{"ours", "", span{1<<60 - 5000, 1 << 60}}, after: lock("me", span{1<<60 - 5000, 1 << 60}),
			realOnly: "its durations have no room for that",
		},
		{
			name: "without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{"bare", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "ours, signal left alone", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"RPUSH", theSignal, "1"}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)).and(theSignal, list(forever, "1")),
		},
		{
			name: "free", keys: keys, args: args,
			want: []any{"free", "", -2}, after: state{},
		},
		{
			name: "free, signal there", keys: keys, args: args,
			given: []command{{"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000}},
			want:  []any{"free", "", -2}, after: state{theSignal: list(ms(60_000), "1")},
		},
		{
			name: "free, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theSignal, "x"}},
			want:  []any{"free", "", -2}, after: state{theSignal: text("x", forever)},
		},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"other", "you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
		{
			name: "taken by an id that begins like ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me/kept", "PX", 10_000}},
			want:  []any{"other", "me/kept", ms(10_000)}, after: lock("me/kept", ms(10_000)),
		},
		{
			name: "taken by something huge", keys: keys, args: args,
			given: []command{{"SET", theLock, huge}},
			want:  []any{"other", cut, -1}, after: lock(huge, forever),
		},
		{
			name: "taken by another, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}, {"HSET", theSignal, "f", "v"}},
			want:  []any{"other", "you", -1},
			after: lock("you", forever).and(theSignal, hash(forever, map[string]string{"f": "v"})),
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"RPUSH", theLock, "x"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "x")},
		},
	})
}

func TestExtendCut(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", "cut", 30_000, 0, 60_000}

	onBoth(t, Extend, []test{
		{
			name: "less left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "between the two", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 50_000}},
			want:  []any{"ours", "", ms(50_000)}, after: lock("me", ms(50_000)),
		},
		{
			name: "more left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 90_000}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{"bare", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{name: "free", keys: keys, args: args, want: []any{"free", "", -2}, after: state{}},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 90_000}},
			want:  []any{"other", "you", ms(90_000)}, after: lock("you", ms(90_000)),
		},
	})
}

// The fencing token is remembered for twice as long as the lock is to live, whether its TTL is set, kept or
// added to, and never for a shorter time than before.
func TestExtendRemembers(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal, theFence}
	const day, token = 24 * 3600 * 1000, "1700000000000007"
	extend := func(verb string, ttl int64, fence command) test {
		return test{
			keys: keys, args: []any{"me", verb, ttl, token},
			given: []command{{"SET", theLock, "me", "PX", day}, fence},
		}
	}
	with := func(t test, name string, ttl int64, fence span) test {
		t.name, t.want = name, []any{"ours", "", ms(ttl)}
		t.after = lock("me", ms(ttl)).and(theFence, text(token, fence))
		return t
	}
	week := command{"SET", theFence, token, "PX", 7 * day}
	onBoth(t, Extend, []test{
		with(extend("to", 3*day, week), "half a week", 3*day, ms(7*day)),
		with(extend("to", 4*day, week), "more than half a week", 4*day, ms(8*day)),
		with(extend("by", 9*day, week), "more is added", 10*day, ms(20*day)),
		with(extend("to", 366*day, week), "the longest", 366*day, ms(732*day)),
		with(extend("to", 4*day, command{"SET", theFence, token, "PX", 100 * day}), "more left", 4*day, ms(100*day)),
		with(extend("to", 4*day, command{"SET", theFence, token}), "without expiry", 4*day, forever),
		{
			name: "missing", keys: keys, args: []any{"me", "to", 4 * day, token},
			given: []command{{"SET", theLock, "me", "PX", day}},
			want:  []any{"ours", "", 4 * day}, after: lock("me", ms(4*day)),
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
