package scripts

import (
	"slices"
	"testing"
)

const thePool = "lock-pool:{p}"

// zset is what the test server shows of a sorted set: its members by score.
func zset(members ...string) key { return key{"zset", members, forever} }

func TestAcquireAny(t *testing.T) {
	t.Parallel()
	keys := []string{thePool, "lock:a", "lock-fence:a", "lock:b", "lock-fence:b"}
	bare := []string{thePool, "lock:a", "lock:b"}
	args := []any{"me", 30_000, fenceTTL, "", "a", "b"}
	again := []any{"me", 30_000, fenceTTL, "repeat", "a", "b"}
	members := command{"ZADD", thePool, 1, "a", 2, "b"}
	pool := state{thePool: zset("a", "b")}
	token, mine := text(clock{}, ms(fenceTTL)), text("me", ms(30_000))

	onBoth(t, AcquireAny, []test{
		{
			name: "all free", keys: keys, args: args, given: []command{members},
			want: []any{1, clock{}}, after: pool.and("lock:a", mine).and("lock-fence:a", token),
		},
		{
			name: "no fence wanted", keys: bare, args: []any{"me", 30_000, 0, "", "a", "b"},
			given: []command{members},
			want:  []any{1, "0"}, after: pool.and("lock:a", mine),
		},
		{
			name: "the first taken", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", "you"}},
			want:  []any{2, clock{}},
			after: pool.and("lock:a", text("you", forever)).and("lock:b", mine).and("lock-fence:b", token),
		},
		{
			name: "fence ahead of the clock", keys: keys, args: args,
			given: []command{members, {"SET", "lock-fence:a", "3999999999999999"}},
			want:  []any{1, "4000000000000000"},
			after: pool.and("lock:a", mine).and("lock-fence:a", text("4000000000000000", ms(fenceTTL))),
		},
		{
			name: "the first has left", keys: keys, args: args,
			given: []command{{"ZADD", thePool, 2, "b"}},
			want:  []any{2, clock{}},
			after: state{thePool: zset("b"), "lock:b": mine, "lock-fence:b": token},
		},
		{name: "no members", keys: keys, args: args, want: []any{}, after: state{}},
		{
			name: "none given", keys: keys[:1], args: args[:4], given: []command{members},
			want: []any{}, after: pool,
		},
		{
			name: "all taken", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", "you", "PX", 50_000}, {"SET", "lock:b", "them", "PX", 20_000}},
			want:  []any{0, "them", ms(20_000), 0},
			after: pool.and("lock:a", text("you", ms(50_000))).and("lock:b", text("them", ms(20_000))),
		},
		{
			name: "all taken, one without expiry", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", "you"}, {"SET", "lock:b", "them", "PX", 20_000}},
			want:  []any{0, "them", ms(20_000), 0},
			after: pool.and("lock:a", text("you", forever)).and("lock:b", text("them", ms(20_000))),
		},
		{
			name: "all taken without expiry", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", huge}, {"SET", "lock:b", "them"}},
			want:  []any{0, cut, -1, 0},
			after: pool.and("lock:a", text(huge, forever)).and("lock:b", text("them", forever)),
		},
		{
			name: "our id is there, no repeat", keys: keys, args: args,
			given: []command{members, {"SET", "lock:b", "me", "PX", 10_000}},
			want:  []any{1, clock{}},
			after: pool.and("lock:a", mine).and("lock-fence:a", token).and("lock:b", text("me", ms(10_000))),
		},
		{
			name: "again", keys: keys, args: again,
			given: []command{members, {"SET", "lock:b", "me", "PX", 10_000}, {"SET", "lock-fence:b", "7"}},
			want:  []any{2, "7"},
			after: pool.and("lock:b", mine).and("lock-fence:b", text("7", forever)),
		},
		{
			name: "again, no fence wanted", keys: bare, args: []any{"me", 30_000, 0, "repeat", "a", "b"},
			given: []command{members, {"SET", "lock:b", "me", "PX", 90_000}},
			want:  []any{2, "0"}, after: pool.and("lock:b", text("me", ms(90_000))),
		},
		{
			name: "again, fence lost", keys: keys, args: again,
			given: []command{members, {"SET", "lock:b", "me", "PX", 10_000}},
			want:  []any{2, clock{}}, after: pool.and("lock:b", mine).and("lock-fence:b", token),
		},
		{
			name: "again, never executed", keys: keys, args: again,
			given: []command{members, {"SET", "lock:a", "you"}},
			want:  []any{2, clock{}},
			after: pool.and("lock:a", text("you", forever)).and("lock:b", mine).and("lock-fence:b", token),
		},
		{
			name: "foreign pool", keys: keys, args: args, given: []command{{"SET", thePool, "x"}},
			want: fails("WRONGTYPE"), after: state{thePool: text("x", forever)},
		},
		{
			name: "all taken, the pool has others", keys: keys, args: args,
			given: []command{members, {"ZADD", thePool, 3, "c"}, {"SET", "lock:a", "you"}, {"SET", "lock:b", "them"}},
			want:  []any{0, "you", -1, 1},
			after: state{thePool: zset("a", "b", "c"), "lock:a": text("you", forever), "lock:b": text("them", forever)},
		},
		{
			name: "taken, and one that has left", keys: keys, args: args,
			given: []command{{"ZADD", thePool, 2, "b"}, {"SET", "lock:a", "you", "PX", 20_000}, {"SET", "lock:b", "them"}},
			want:  []any{0, "them", -1, 0},
			after: state{thePool: zset("b"), "lock:a": text("you", ms(20_000)), "lock:b": text("them", forever)},
		},
		{
			name: "taken, but all have left", keys: keys, args: args,
			given: []command{{"SET", "lock:a", "you"}, {"SET", "lock:b", "them"}},
			want:  []any{}, after: state{"lock:a": text("you", forever), "lock:b": text("them", forever)},
		},
		{
			name: "foreign fence", keys: keys, args: args,
			given: []command{members, {"SET", "lock-fence:a", "x"}},
			want:  []any{2, clock{}},
			after: pool.and("lock-fence:a", text("x", forever)).and("lock:b", mine).and("lock-fence:b", token),
		},
		{
			name: "fence of another type", keys: keys, args: args,
			given: []command{members, {"RPUSH", "lock-fence:a", "x"}, {"SET", "lock:b", "you"}},
			want:  []any{0, "you", -1, 0},
			after: pool.and("lock-fence:a", list(forever, "x")).and("lock:b", text("you", forever)),
		},
		{
			name: "foreign fences", keys: keys, args: args,
			given: []command{members, {"MSET", "lock-fence:a", "x", "lock-fence:b", "x"}},
			want:  fails("WRONGTYPE the lock or the fence of the pool member b"),
			after: pool.and("lock-fence:a", text("x", forever)).and("lock-fence:b", text("x", forever)),
		},
		{
			name: "a foreign lock that expires first", keys: keys, args: args,
			given: []command{members, {"RPUSH", "lock:a", "x"}, {"PEXPIRE", "lock:a", 5_000}, {"SET", "lock:b", "you"}},
			want:  []any{0, "you", -1, 0},
			after: pool.and("lock:a", list(ms(5_000), "x")).and("lock:b", text("you", forever)),
		},
		{
			name: "foreign locks", keys: keys, args: args,
			given: []command{members, {"RPUSH", "lock:a", "x"}, {"RPUSH", "lock:b", "x"}},
			want:  fails("WRONGTYPE"),
			after: pool.and("lock:a", list(forever, "x")).and("lock:b", list(forever, "x")),
		},
	})
}

func TestPoolAssign(t *testing.T) {
	t.Parallel()
	keys := []string{thePool}
	members := command{"ZADD", thePool, 1, "a", 2, "b"}
	onBoth(t, PoolAssign, []test{
		{
			name: "new", keys: keys, args: []any{"z", "y", "z"},
			want: []any{2, 0}, after: state{thePool: zset("z", "y")},
		},
		{
			name: "others", keys: keys, args: []any{"c", "b"}, given: []command{members},
			want: []any{1, 1}, after: state{thePool: zset("c", "b")},
		},
		{name: "none", keys: keys, given: []command{members}, want: []any{0, 2}, after: state{}},
		{
			name: "foreign", keys: keys, args: []any{"a"}, given: []command{{"SET", thePool, "x"}},
			want: fails("WRONGTYPE"), after: state{thePool: text("x", forever)},
		},
	})
}

func TestPoolChange(t *testing.T) {
	t.Parallel()
	keys := []string{thePool}
	members := command{"ZADD", thePool, 1, "b", 2, "a"}
	onBoth(t, PoolChange, []test{
		{
			name: "extend", keys: keys, args: []any{"extend", "c", "a", "A"}, given: []command{members},
			want: 2, after: state{thePool: zset("b", "a", "c", "A")},
		},
		{
			name: "extend nothing", keys: keys, args: []any{"extend", "c"},
			want: 1, after: state{thePool: zset("c")},
		},
		{
			name: "shrink", keys: keys, args: []any{"shrink", "b", "x"}, given: []command{members},
			want: 1, after: state{thePool: zset("a")},
		},
		{name: "shrink nothing", keys: keys, args: []any{"shrink", "b"}, want: 0, after: state{}},
		{
			name: "foreign", keys: keys, args: []any{"shrink", "b"}, given: []command{{"SET", thePool, "x"}},
			want: fails("WRONGTYPE"), after: state{thePool: text("x", forever)},
		},
	})
}

func TestPoolMembers(t *testing.T) {
	t.Parallel()
	keys := []string{thePool}
	onBoth(t, PoolMembers, []test{
		{
			name: "some", keys: keys, given: []command{{"ZADD", thePool, 2, "a", 1, "b"}},
			want: []any{"b", "a"}, after: state{thePool: zset("b", "a")},
		},
		{name: "none", keys: keys, want: []any{}, after: state{}},
		{
			name: "foreign", keys: keys, given: []command{{"RPUSH", thePool, "x"}},
			want: fails("WRONGTYPE"), after: state{thePool: list(forever, "x")},
		},
	})
}

func TestReleaseAny(t *testing.T) {
	t.Parallel()
	const signal = "lock-signal:{p}/"
	keys := []string{signal, "lock:a", "lock:b", "lock:c"}
	args := []any{"me", signalTTL, "a", "b", "c"}
	pushed := func(texts ...string) key { return list(span{0, signalTTL}, texts...) }
	full := state{"lock:a": text("you", forever), "lock:b": text("you", forever), "lock:c": text("you", forever)}

	onBoth(t, ReleaseAny, []test{
		{
			name: "one is ours", keys: keys, args: args,
			given: []command{{"SET", "lock:a", "you"}, {"SET", "lock:b", "me"}},
			want:  "released", after: state{"lock:a": text("you", forever), signal: pushed("b")},
		},
		{
			name: "two are ours", keys: keys, args: args,
			given: []command{{"SET", "lock:a", "me"}, {"SET", "lock:c", "me"}, {"LPUSH", signal, "x"}},
			want:  "released", after: state{signal: pushed("c", "a", "x")},
		},
		{
			name: "none is ours, one is free", keys: keys, args: args,
			given: []command{{"SET", "lock:a", "you"}, {"SET", "lock:c", "me/kept"}},
			want:  "not held", after: state{"lock:a": text("you", forever), "lock:c": text("me/kept", forever), signal: pushed("1")},
		},
		{
			name: "a signal is there", keys: keys, args: args, given: []command{{"LPUSH", signal, "x"}},
			want: "not held", after: state{signal: list(forever, "x")},
		},
		{
			name: "none is free", keys: keys, args: args,
			given: []command{{"MSET", "lock:a", "you", "lock:b", "you", "lock:c", "you"}},
			want:  "not held", after: full,
		},
		{
			name: "as many signals as may wait", keys: keys, args: args,
			given: []command{{"SET", "lock:a", "me"}, append(command{"LPUSH", signal}, slices.Repeat([]any{"x"}, 16)...)},
			want:  "released", after: state{signal: pushed(slices.Repeat([]string{"x"}, 16)...)},
		},
		{
			name: "a member called 1", keys: keys[:2], args: []any{"me", signalTTL, "1"},
			given: []command{{"SET", "lock:a", "me"}},
			want:  "released", after: state{signal: pushed("1")},
		},
		{
			name: "foreign lock", keys: keys[:2], args: args[:3], given: []command{{"RPUSH", "lock:a", "me"}},
			want: "not held", after: state{"lock:a": list(forever, "me")},
		},
		{
			name: "foreign signal", keys: keys, args: args,
			given: []command{{"SET", signal, "x"}, {"SET", "lock:a", "me"}},
			want:  "released", after: state{signal: text("x", forever)},
		},
	})
}

func TestLookAny(t *testing.T) {
	t.Parallel()
	const other = "lock-pool:{q}"
	keys := []string{thePool, "lock:a", "lock:b"}
	args := []any{2, "a", "b"}
	members := command{"ZADD", thePool, 1, "a", 2, "b"}
	pool := state{thePool: zset("a", "b")}
	a, b := command{"SET", "lock:a", "you", "PX", 50_000}, command{"SET", "lock:b", "them", "PX", 20_000}
	held := pool.and("lock:a", text("you", ms(50_000))).and("lock:b", text("them", ms(20_000)))

	onBoth(t, LookAny, []test{
		{name: "all held", keys: keys, args: args, given: []command{members, a, b}, want: []any{ms(20_000)}, after: held},
		{
			name: "none has an expiry", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", "x"}, {"RPUSH", "lock:b", "x"}},
			want:  []any{-1},
			after: pool.and("lock:a", text("x", forever)).and("lock:b", list(forever, "x")),
		},
		{
			name: "one has an expiry", keys: keys, args: args,
			given: []command{members, a, {"SET", "lock:b", "x"}},
			want:  []any{ms(50_000)},
			after: pool.and("lock:a", text("you", ms(50_000))).and("lock:b", text("x", forever)),
		},
		{
			name: "one is free", keys: keys, args: args, given: []command{members, a},
			want: []any{-2}, after: pool.and("lock:a", text("you", ms(50_000))),
		},
		{
			name: "another order", keys: keys, args: args,
			given: []command{{"ZADD", thePool, 2, "a", 1, "b"}, a, b},
			want:  []any{ms(20_000)},
			after: held.and(thePool, zset("b", "a")),
		},
		{
			name: "one has left", keys: keys, args: args, given: []command{{"ZADD", thePool, 1, "a"}, a, b},
			want: []any{"others"}, after: held.and(thePool, zset("a")),
		},
		{
			name: "one has come", keys: keys, args: args, given: []command{members, {"ZADD", thePool, 3, "c"}, a, b},
			want: []any{"others"}, after: held.and(thePool, zset("a", "b", "c")),
		},
		{
			name: "one for another", keys: keys, args: args, given: []command{{"ZADD", thePool, 1, "a", 2, "c"}, a, b},
			want: []any{"others"}, after: held.and(thePool, zset("a", "c")),
		},
		{name: "emptied", keys: keys, args: args, want: []any{"others"}, after: state{}},
		{
			name: "foreign pool", keys: keys, args: args, given: []command{{"SET", thePool, "x"}, a, b},
			want: []any{"others"}, after: held.and(thePool, text("x", forever)),
		},
		{
			name: "two pools", keys: append(append([]string{}, keys...), other, "lock:c"), args: []any{2, "a", "b", 1, "c"},
			given: []command{members, a, b, {"ZADD", other, 1, "c"}},
			want:  []any{ms(20_000), -2}, after: held.and(other, zset("c")),
		},
	})
}
