package scripts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

const (
	fenceTTL = 604_800_000
	mebibyte = 1 << 20
)

// huge is a value that no lock has, and what a script tells of it.
var (
	huge = strings.Repeat("\x00\xff\r\n", mebibyte/4)
	cut  = huge[:1025]
)

func TestAcquire(t *testing.T) {
	t.Parallel()
	with, without := []string{theLock, theFence}, []string{theLock}
	args := []any{"me", 30_000, fenceTTL}
	mine := lock("me", ms(30_000))

	tests := []test{
		{
			name: "free, no fence wanted", keys: without, args: args[:2],
			want: "0", after: mine,
		},
		{
			name: "free, no fence yet", keys: with, args: args,
			want: clock{}, after: mine.and(theFence, text(clock{}, ms(fenceTTL))),
		},
		{
			name: "free, fence behind the clock", keys: with, args: args,
			given: []command{{"SET", theFence, "1700000000000000", "PX", 1000}},
			want:  clock{}, after: mine.and(theFence, text(clock{}, ms(fenceTTL))),
		},
		{
			name: "free, fence ahead of the clock", keys: with, args: args,
			given: []command{{"SET", theFence, "3999999999999999", "PX", 60_000}},
			want:  "4000000000000000",
			after: mine.and(theFence, text("4000000000000000", ms(fenceTTL))),
		},
		{
			name: "free, the last fence but one", keys: with, args: args,
			given: []command{{"SET", theFence, "9007199254740990"}},
			want:  "9007199254740991",
			after: mine.and(theFence, text("9007199254740991", ms(fenceTTL))),
		},
		{
			name: "free, signal from an earlier release", keys: without, args: args[:2],
			given: []command{{"RPUSH", theSignal, "1"}},
			want:  "0", after: mine.and(theSignal, list(forever, "1")),
		},
		{
			name: "taken", keys: with, args: args,
			given: []command{{"SET", theLock, "you", "PX", 20_000}, {"SET", theFence, "5"}},
			want:  []any{"you", ms(20_000)},
			after: lock("you", ms(20_000)).and(theFence, text("5", forever)),
		},
		{
			name: "taken without expiry", keys: with, args: args,
			given: []command{{"SET", theLock, "you"}},
			want:  []any{"you", -1}, after: lock("you", forever),
		},
		{
			name: "taken by an id that begins like ours", keys: without, args: args[:2],
			given: []command{{"SET", theLock, "me2", "PX", 20_000}},
			want:  []any{"me2", ms(20_000)}, after: lock("me2", ms(20_000)),
		},
		{
			name: "taken by an id that ours begins like", keys: without, args: args[:2],
			given: []command{{"SET", theLock, "m", "PX", 20_000}},
			want:  []any{"m", ms(20_000)}, after: lock("m", ms(20_000)),
		},
		{
			name: "taken by nobody's name", keys: with, args: args,
			given: []command{{"SET", theLock, ""}},
			want:  []any{"", -1}, after: lock("", forever),
		},
		{
			name: "taken by something huge", keys: with, args: args,
			given: []command{{"SET", theLock, huge}},
			want:  []any{cut, -1}, after: lock(huge, forever),
		},
		{
			name: "taken, foreign fence", keys: with, args: args,
			given: []command{{"SET", theLock, "you"}, {"RPUSH", theFence, "x"}},
			want:  []any{"you", -1}, after: lock("you", forever).and(theFence, list(forever, "x")),
		},
		{
			name: "again, less left", keys: with, args: args,
			given: []command{
				{"SET", theLock, "me", "PX", 10_000}, {"SET", theFence, "1700000000000001", "PX", 60_000},
			},
			want:  "1700000000000001",
			after: mine.and(theFence, text("1700000000000001", ms(60_000))),
		},
		{
			name: "again, more left", keys: with, args: args,
			given: []command{{"SET", theLock, "me", "PX", 90_000}, {"SET", theFence, "7", "PX", 60_000}},
			want:  "7", after: lock("me", ms(90_000)).and(theFence, text("7", ms(60_000))),
		},
		{
			name: "again, without expiry", keys: with, args: args,
			given: []command{{"SET", theLock, "me"}, {"SET", theFence, "7"}},
			want:  "7", after: lock("me", forever).and(theFence, text("7", forever)),
		},
		{
			name: "again, fence lost", keys: with, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  clock{}, after: mine.and(theFence, text(clock{}, ms(fenceTTL))),
		},
		{
			name: "again, no fence wanted", keys: without, args: args[:2],
			given: []command{{"SET", theLock, "me", "PX", 10_000}},
			want:  "0", after: mine,
		},
		{
			name: "again, foreign fence", keys: with, args: args,
			given: []command{{"SET", theLock, "me", "PX", 10_000}, {"SADD", theFence, "x"}},
			want:  fails("WRONGTYPE"),
			after: lock("me", ms(10_000)).and(theFence, key{"set", []string{"x"}, forever}),
		},
		{
			name: "lock of a wrong type", keys: with, args: args,
			given: []command{{"RPUSH", theLock, "x"}},
			want:  fails("WRONGTYPE"), after: state{theLock: list(forever, "x")},
		},
		{
			name: "lock of a wrong type, no fence wanted", keys: without, args: args[:2],
			given: []command{{"HSET", theLock, "f", "v"}},
			want:  fails("WRONGTYPE"), after: state{theLock: hash(forever, map[string]string{"f": "v"})},
		},
		{
			name: "fence of a wrong type", keys: with, args: args,
			given: []command{{"RPUSH", theFence, "x"}},
			want:  fails("WRONGTYPE"), after: state{theFence: list(forever, "x")},
		},
		{
			name: "TTL that Redis refuses", keys: without, args: []any{"me", 0},
			want: fails("ERR"), after: state{},
		},
	}
	for _, bad := range []string{
		"", "x", "-5", "+5", "1.5", "1e3", "0x10", " 5", "5\n", "5 ", "nan", "inf", "5\x00",
		"9007199254740991", "9007199254740992", "9999999999999999", "10000000000000000",
		strings.Repeat("9", 400),
	} {
		tests = append(tests, test{
			name: "fence that is no token: " + bad[:min(len(bad), 20)], keys: with, args: args,
			given: []command{{"SET", theFence, bad}},
			want:  fails("WRONGTYPE"), after: state{theFence: text(bad, forever)},
		})
	}
	onBoth(t, Acquire, tests)
}

// TestFenceAtTheClock needs a clock that stands still, which only the fake server has.
func TestFenceAtTheClock(t *testing.T) {
	t.Parallel()
	const now = 1_800_000_000_000_000 // µs
	tests := []struct{ last, want int }{
		{now - 1, now}, {now, now + 1}, {now + 1, now + 2}, {now + 2, now + 3},
	}
	for _, test := range tests {
		m := miniredis.RunT(t)
		m.SetTime(time.UnixMicro(now))
		c := redistest.At(t, "redis://"+m.Addr()).Dial(t)
		give(t, c, []command{{"SET", theFence, test.last}})
		reply, err := acquireCall.on(c)
		if problem := match(reply, err, fmt.Sprint(test.want), span{}); problem != "" {
			t.Errorf("after %d: %s", test.last, problem)
		}
		if got, err := m.Get(theFence); err != nil || got != fmt.Sprint(test.want) {
			t.Errorf("after %d %q is kept, %v; want %d", test.last, got, err, test.want)
		}
	}
}
