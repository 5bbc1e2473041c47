package scripts

import "testing"

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
			want:  []any{0, "them", ms(20_000)},
			after: pool.and("lock:a", text("you", ms(50_000))).and("lock:b", text("them", ms(20_000))),
		},
		{
			name: "all taken, one without expiry", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", "you"}, {"SET", "lock:b", "them", "PX", 20_000}},
			want:  []any{0, "them", ms(20_000)},
			after: pool.and("lock:a", text("you", forever)).and("lock:b", text("them", ms(20_000))),
		},
		{
			name: "all taken without expiry", keys: keys, args: args,
			given: []command{members, {"SET", "lock:a", huge}, {"SET", "lock:b", "them"}},
			want:  []any{0, cut, -1},
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
			name: "foreign fence", keys: keys, args: args,
			given: []command{members, {"SET", "lock-fence:a", "x"}},
			want:  fails("WRONGTYPE"), after: pool.and("lock-fence:a", text("x", forever)),
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
