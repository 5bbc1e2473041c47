package scripts

import (
	"slices"
	"testing"
)

func TestAcquireChosen(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theFence}
	args := []any{"me", 30_000, fenceTTL, "chosen"}

	onBoth(t, Acquire, []test{
		{
			name: "free", keys: keys, args: args,
			want:  clock{},
			after: lock("me", ms(30_000)).and(theFence, text(clock{}, ms(fenceTTL))),
		},
		{
			name: "our id is there", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"SET", theFence, "7"}},
			want:  []any{"me", ms(10_000)},
			after: lock("me", ms(10_000)).and(theFence, text("7", forever)),
		},
		{
			name: "taken", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
	})
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theFence}
	fresh := []any{"me", 30_000, fenceTTL, "", "old"}
	same := []any{"old", 30_000, fenceTTL, "", "old"}
	old := command{"SET", theLock, "old", "PX", 10_000}
	token := text(clock{}, ms(fenceTTL))

	onBoth(t, Acquire, []test{
		{
			name: "the id is there", keys: keys, args: fresh,
			given: []command{old, {"SET", theFence, "7"}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "the id is there, more left", keys: keys, args: fresh,
			given: []command{{"SET", theLock, "old", "PX", 90_000}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "the id is there, without expiry", keys: keys, args: fresh,
			given: []command{{"SET", theLock, "old"}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "the id is there, fence ahead of the clock", keys: keys, args: fresh,
			given: []command{old, {"SET", theFence, "3999999999999999"}},
			want:  "4000000000000000",
			after: lock("me", ms(30_000)).and(theFence, text("4000000000000000", ms(fenceTTL))),
		},
		{
			name: "the id is there, no fence wanted", keys: keys[:1],
			args:  []any{"me", 30_000, "", "", "old"},
			given: []command{old},
			want:  "0", after: lock("me", ms(30_000)),
		},
		{
			name: "the id is there, foreign fence", keys: keys, args: fresh,
			given: []command{old, {"RPUSH", theFence, "x"}},
			want:  fails("WRONGTYPE"),
			after: lock("old", ms(10_000)).and(theFence, list(forever, "x")),
		},
		{
			name: "the id is there and stays", keys: keys, args: same,
			given: []command{old, {"SET", theFence, "7"}},
			want:  clock{}, after: lock("old", ms(30_000)).and(theFence, token),
		},
		{
			name: "again", keys: keys, args: fresh,
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"SET", theFence, "7"}},
			want:  "7", after: lock("me", ms(30_000)).and(theFence, text("7", forever)),
		},
		{name: "free", keys: keys, args: fresh, want: []any{}, after: state{}},
		{name: "free, the same id", keys: keys, args: same, want: []any{}, after: state{}},
		{
			name: "taken by another", keys: keys, args: fresh,
			given: []command{{"SET", theLock, "you", "PX", 10_000}, {"SET", theFence, "7"}},
			want:  []any{"you", ms(10_000)},
			after: lock("you", ms(10_000)).and(theFence, text("7", forever)),
		},
		{
			name: "kept for its minimum", keys: keys, args: fresh,
			given: []command{{"SET", theLock, "old/kept", "PX", 10_000}},
			want:  []any{"old/kept", ms(10_000)}, after: lock("old/kept", ms(10_000)),
		},
		{
			name: "lock of a wrong type", keys: keys, args: fresh,
			given: []command{{"RPUSH", theLock, "old"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "old")},
		},
	})
}

// Fences against which a lease with the token 1700000000000007 is ours, and against which it is not.
var (
	notLater = []string{"", "x", "7", "1700000000000006", "1700000000000007", "99999999999999x"}
	later    = []string{"1700000000000008", "9007199254740991", "17000000000000070"}
)

func TestExtendWithFence(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal, theFence}
	args := []any{"me", "to", 30_000, "1700000000000007"}
	me := command{"SET", theLock, "me", "PX", 10_000}

	tests := []test{
		{
			name: "no fence", keys: keys, args: args,
			given: []command{me},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{
			name: "foreign fence", keys: keys, args: args,
			given: []command{me, {"RPUSH", theFence, "x"}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)).and(theFence, list(forever, "x")),
		},
	}
	for _, fence := range notLater {
		tests = append(tests, test{
			name: "fence " + fence, keys: keys, args: args,
			given: []command{me, {"SET", theFence, fence}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)).and(theFence, text(fence, forever)),
		})
	}
	for _, fence := range later {
		tests = append(tests, test{
			name: "fence " + fence, keys: keys, args: args,
			given: []command{me, {"SET", theFence, fence}},
			want:  []any{"other", "me", ms(10_000)}, after: lock("me", ms(10_000)).and(theFence, text(fence, forever)),
		})
	}
	onBoth(t, Extend, tests)
}

func TestExtendForEver(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", "persist", 0, 0}

	onBoth(t, Extend, []test{
		{
			name: "with expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"ours", "", -1}, after: lock("me", forever),
		},
		{
			name: "without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{"ours", "", -1}, after: lock("me", forever),
		},
		{name: "free", keys: keys, args: args, want: []any{"free", "", -2}, after: state{}},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"other", "you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
	})
}

func TestSeize(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theFence}
	args := []any{"me", 30_000, fenceTTL, "chosen", "you"}
	token := text(clock{}, ms(fenceTTL))

	onBoth(t, Acquire, []test{
		{
			name: "free", keys: keys, args: args, want: []any{}, after: state{},
		},
		{
			name: "taken", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 90_000}, {"SET", theFence, "7"}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "taken without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "them", "PX", 90_000}},
			want:  []any{"them", ms(90_000)}, after: lock("them", ms(90_000)),
		},
		{
			name: "our id is there instead", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"me", ms(10_000)}, after: lock("me", ms(10_000)),
		},
		{
			name: "taken under our id", keys: keys, args: []any{"me", 30_000, fenceTTL, "chosen", "me"},
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"SET", theFence, "7"}},
			want:  clock{}, after: lock("me", ms(30_000)).and(theFence, token),
		},
		{
			name: "foreign fence", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}, {"RPUSH", theFence, "x"}},
			want:  fails("WRONGTYPE"),
			after: lock("you", forever).and(theFence, list(forever, "x")),
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"RPUSH", theLock, "x"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "x")},
		},
	})
}

func TestExtendBy(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", "by", 30_000, 0}

	onBoth(t, Extend, []test{
		{
			name: "ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"ours", "", ms(40_000)}, after: lock("me", ms(40_000)),
		},
		{
			name: "ours, more left", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 90_000}},
			want:  []any{"ours", "", ms(120_000)}, after: lock("me", ms(120_000)),
		},
		{
			name: "without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{"ours", "", 30_000}, after: lock("me", ms(30_000)),
		},
		{name: "free", keys: keys, args: args, want: []any{"free", "", -2}, after: state{}},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"other", "you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
	})
}

func TestLookWhetherOurs(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", "check", 0, 0}

	onBoth(t, Extend, []test{
		{
			name: "ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  []any{"ours", "", ms(10_000)}, after: lock("me", ms(10_000)),
		},
		{
			name: "ours without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  []any{"ours", "", -1}, after: lock("me", forever),
		},
		{name: "free", keys: keys, args: args, want: []any{"free", "", -2}, after: state{}},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  []any{"other", "you", ms(10_000)}, after: lock("you", ms(10_000)),
		},
	})
}

func TestReleaseAndKeep(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", signalTTL, 60_000}
	kept := lock("me/kept", ms(60_000))

	onBoth(t, Release, []test{
		{
			name: "ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  "released", after: kept.and(theSignal, signalled),
		},
		{
			name: "ours without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  "released", after: kept.and(theSignal, signalled),
		},
		{
			name: "ours, signal there already", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}, {"RPUSH", theSignal, "1"}},
			want:  "released", after: kept.and(theSignal, signalled),
		},
		{
			name: "ours, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}, {"HSET", theSignal, "f", "v"}},
			want:  "released", after: kept.and(theSignal, foreign),
		},
		{
			name: "ours, nothing of the minimum left", keys: keys, args: []any{"me", signalTTL, 0},
			given: []command{{"SET", theLock, "me"}},
			want:  "released", after: state{theSignal: signalled},
		},
		{
			name: "again", keys: keys, args: args,
			given: []command{{"SET", theLock, "me/kept", "PX", 10_000}},
			want:  "released", after: lock("me/kept", ms(10_000)),
		},
		{
			name: "again, nothing of the minimum left", keys: keys, args: []any{"me", signalTTL, 0},
			given: []command{{"SET", theLock, "me/kept", "PX", 10_000}},
			want:  "not held", after: lock("me/kept", ms(10_000)),
		},
		{
			name: "another's that is kept", keys: keys, args: args,
			given: []command{{"SET", theLock, "you/kept", "PX", 10_000}},
			want:  "not held", after: lock("you/kept", ms(10_000)),
		},
		{name: "free", keys: keys, args: args, want: "not held", after: state{}},
		{
			name: "ours, of a pool", keys: keys, args: []any{"me", signalTTL, 0, 0, "m"},
			given: []command{{"SET", theLock, "me"}},
			want:  "released", after: state{theSignal: list(span{0, signalTTL}, "m")},
		},
		{
			name: "ours, of a pool, a signal waits", keys: keys, args: []any{"me", signalTTL, 0, 0, "m"},
			given: []command{{"SET", theLock, "me"}, {"LPUSH", theSignal, "x"}},
			want:  "released", after: state{theSignal: list(span{0, signalTTL}, "m", "x")},
		},
		{
			name: "ours, of a pool, 16 signals wait", keys: keys, args: []any{"me", signalTTL, 0, 0, "m"},
			given: []command{{"SET", theLock, "me"}, append(command{"LPUSH", theSignal}, slices.Repeat([]any{"x"}, 16)...)},
			want:  "released", after: state{theSignal: list(span{0, signalTTL}, slices.Repeat([]string{"x"}, 16)...)},
		},
	})
}

func TestReleaseWithFence(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal, theFence}
	args := []any{"me", signalTTL, 0, "1700000000000007"}
	me := command{"SET", theLock, "me", "PX", 10_000}

	var tests []test
	for _, fence := range notLater {
		tests = append(tests, test{
			name: "fence " + fence, keys: keys, args: args,
			given: []command{me, {"SET", theFence, fence}},
			want:  "released", after: state{theSignal: signalled, theFence: text(fence, forever)},
		})
	}
	for _, fence := range later {
		tests = append(tests, test{
			name: "fence " + fence, keys: keys, args: args,
			given: []command{me, {"SET", theFence, fence}},
			want:  "handed on", after: lock("me", ms(10_000)).and(theFence, text(fence, forever)),
		})
	}
	tests = append(tests,
		test{
			name: "no fence", keys: keys, args: args,
			given: []command{me},
			want:  "released", after: state{theSignal: signalled},
		},
		test{
			name: "foreign fence", keys: keys, args: args,
			given: []command{me, {"RPUSH", theFence, "x"}},
			want:  "released", after: state{theSignal: signalled, theFence: list(forever, "x")},
		},
	)
	onBoth(t, Release, tests)
}
