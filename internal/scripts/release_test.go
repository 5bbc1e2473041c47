package scripts

import (
	"slices"
	"testing"
)

const signalTTL = 1000

// A signal as a release leaves it, and one that was there before.
var (
	signalled = list(span{0, signalTTL}, "1")
	foreign   = hash(forever, map[string]string{"f": "v"})
)

func TestRelease(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{"me", signalTTL}

	onBoth(t, Release, []test{
		{
			name: "ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  "released", after: state{theSignal: signalled},
		},
		{
			name: "ours without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}},
			want:  "released", after: state{theSignal: signalled},
		},
		{
			name: "ours, fence stays", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}, {"SET", theFence, "5"}},
			want:  "released", after: state{theSignal: signalled, theFence: text("5", forever)},
		},
		{
			name: "ours, signal there already", keys: keys, args: args,
			given: []command{
				{"SET", theLock, "me"}, {"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000},
			},
			want: "released", after: state{theSignal: signalled},
		},
		{
			name: "ours, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theLock, "me"}, {"HSET", theSignal, "f", "v"}},
			want:  "released", after: state{theSignal: foreign},
		},
		{name: "free", keys: keys, args: args, want: "not held", after: state{}},
		{
			name: "free, signal there", keys: keys, args: args,
			given: []command{{"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000}},
			want:  "not held", after: state{theSignal: list(ms(60_000), "1")},
		},
		{
			name: "free, foreign signal", keys: keys, args: args,
			given: []command{{"HSET", theSignal, "f", "v"}},
			want:  "not held", after: state{theSignal: foreign},
		},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  "not held", after: lock("you", ms(10_000)),
		},
		{
			name: "taken by an id that begins like ours", keys: keys, args: args,
			given: []command{{"SET", theLock, "me/kept"}},
			want:  "not held", after: lock("me/kept", forever),
		},
		{
			name: "taken by an id that ours begins like", keys: keys, args: args,
			given: []command{{"SET", theLock, "m"}},
			want:  "not held", after: lock("m", forever),
		},
		{
			name: "taken by something huge", keys: keys, args: args,
			given: []command{{"SET", theLock, huge}},
			want:  "not held", after: lock(huge, forever),
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"RPUSH", theLock, "me"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "me")},
		},
	})
}

func TestReset(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{signalTTL, "you"}

	onBoth(t, Reset, []test{
		{
			name: "taken", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}, {"SET", theFence, "5"}},
			want:  []any{"reset", "you", ms(10_000)},
			after: state{theSignal: signalled, theFence: text("5", forever)},
		},
		{
			name: "taken without expiry", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}},
			want:  []any{"reset", "you", -1}, after: state{theSignal: signalled},
		},
		{
			name: "taken by nobody's name", keys: keys, args: []any{signalTTL, ""},
			given: []command{{"SET", theLock, ""}},
			want:  []any{"reset", "", -1}, after: state{theSignal: signalled},
		},
		{
			name: "taken by something huge", keys: keys, args: []any{signalTTL, cut},
			given: []command{{"SET", theLock, huge}},
			want:  []any{"reset", cut, -1}, after: state{theSignal: signalled},
		},
		{
			name: "taken, signal there already", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}, {"RPUSH", theSignal, "1"}},
			want:  []any{"reset", "you", -1}, after: state{theSignal: signalled},
		},
		{
			name: "taken, foreign signal", keys: keys, args: args,
			given: []command{{"SET", theLock, "you"}, {"HSET", theSignal, "f", "v"}},
			want:  []any{"reset", "you", -1}, after: state{theSignal: foreign},
		},
		{
			name: "taken by another", keys: keys, args: args,
			given: []command{{"SET", theLock, "them", "PX", 10_000}},
			want:  []any{"other", "them", ms(10_000)}, after: lock("them", ms(10_000)),
		},
		{
			name: "taken, but was free", keys: keys, args: args[:1],
			given: []command{{"SET", theLock, "", "PX", 10_000}},
			want:  []any{"other", "", ms(10_000)}, after: lock("", ms(10_000)),
		},
		{name: "still free", keys: keys, args: args[:1], want: []any{"free", "", -2}, after: state{theSignal: signalled}},
		{name: "free", keys: keys, args: args, want: []any{"free", "", -2}, after: state{theSignal: signalled}},
		{
			name: "free, signal there", keys: keys, args: args,
			given: []command{{"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000}},
			want:  []any{"free", "", -2}, after: state{theSignal: list(ms(60_000), "1")},
		},
		{
			name: "free, foreign signal", keys: keys, args: args,
			given: []command{{"HSET", theSignal, "f", "v"}},
			want:  []any{"free", "", -2}, after: state{theSignal: foreign},
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"HSET", theLock, "f", "v"}},
			want:  fails("WRONGTYPE"), after: state{theLock: foreign},
		},
	})
}

func TestRepair(t *testing.T) {
	t.Parallel()
	keys := []string{theLock, theSignal}
	args := []any{signalTTL}

	onBoth(t, Repair, []test{
		{name: "free", keys: keys, args: args, want: 0, after: state{theSignal: signalled}},
		{
			name: "free, of a pool, a signal there", keys: keys, args: []any{signalTTL, "m"},
			given: []command{{"RPUSH", theSignal, "x"}},
			want:  0, after: state{theSignal: list(span{0, signalTTL}, "m", "x")},
		},
		{
			name: "free, of a pool, 16 signals there", keys: keys, args: []any{signalTTL, "m"},
			given: []command{append(command{"RPUSH", theSignal}, slices.Repeat([]any{"x"}, 16)...)},
			want:  0, after: state{theSignal: list(forever, slices.Repeat([]string{"x"}, 16)...)},
		},
		{
			name: "free, signal there", keys: keys, args: args,
			given: []command{{"RPUSH", theSignal, "1"}, {"PEXPIRE", theSignal, 60_000}},
			want:  0, after: state{theSignal: list(ms(60_000), "1")},
		},
		{
			name: "ended", keys: keys, args: []any{signalTTL, "", "me/kept"},
			want: 0, after: state{theSignal: signalled},
		},
		{
			name: "not ended", keys: keys, args: []any{signalTTL, "", "me/kept"},
			given: []command{{"SET", theLock, "me/kept", "PX", 10_000}},
			want:  ms(10_000), after: lock("me/kept", ms(10_000)),
		},
		{
			name: "ended, and taken", keys: keys, args: []any{signalTTL, "", "me/kept"},
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  0, after: lock("you", ms(10_000)),
		},
		{
			name: "ended, and something else", keys: keys, args: []any{signalTTL, "", "me/kept"},
			given: []command{{"HSET", theLock, "f", "v"}},
			want:  0, after: state{theLock: foreign},
		},
		{
			name: "ended, of a pool", keys: keys, args: []any{signalTTL, "m", "me/kept"},
			given: []command{{"RPUSH", theSignal, "x"}},
			want:  0, after: state{theSignal: list(span{0, signalTTL}, "m", "x")},
		},
		{
			name: "free, foreign signal", keys: keys, args: args,
			given: []command{{"HSET", theSignal, "f", "v"}},
			want:  0, after: state{theSignal: foreign},
		},
		{
			name: "taken", keys: keys, args: args,
			given: []command{{"SET", theLock, "you", "PX", 10_000}},
			want:  0, after: lock("you", ms(10_000)),
		},
		{
			name: "lock of a wrong type", keys: keys, args: args,
			given: []command{{"HSET", theLock, "f", "v"}},
			want:  0, after: state{theLock: foreign},
		},
	})
}
