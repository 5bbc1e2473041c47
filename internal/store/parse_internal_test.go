package store

import (
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
	"github.com/holdfast-go/holdfast/signal"
)

// A question is a command, and what takes its reply in. The two say apart from each other which
// replies the command can have.
type question struct {
	name  string
	cmd   redisconn.Command
	parse func(reply any) error
	good  []any // replies that it has
	bad   []any // replies that it has not, beside those that a parrot makes up
}

func text(s string) []byte { return []byte(s) }

func list(parts ...any) []any { return parts }

// asked returns the command that runs a script on one key with these arguments.
func asked(sc *scripts.Script, args ...any) redisconn.Command {
	return Run{sc, []string{"k"}, args}.command(false)
}

// only is a parse function of which nothing but the error matters.
func only[A any](parse func(any) (A, error)) func(any) error {
	return func(reply any) error { _, err := parse(reply); return err }
}

var questions = []question{
	{
		"acquire", asked(&scripts.Acquire, "id", 1000, 1000),
		func(reply any) error { _, _, err := parseAcquired(reply, ""); return err },
		list(text("0"), text("1700000000000000"), list(text("id"), int64(-1))),
		list(list(), text(""), text("-1"), text("+1"), int64(1), list(text("id")), list(nil, int64(1))),
	},
	{
		"take over", asked(&scripts.Acquire, "id", 1000, 1000, "", "other"),
		func(reply any) error { _, _, err := parseAcquired(reply, "other"); return err },
		list(text("0"), list(), list(text("id"), int64(5))),
		list(nil, text("1.5"), list(text("id"), int64(5), int64(5))),
	},
	{
		"acquire any of two", asked(&scripts.AcquireAny, "id", 1000, 0, "", "a", "b"),
		func(reply any) error { _, err := parseTook(reply, 2); return err },
		list(list(), list(int64(2), text("0")), list(int64(0), text("id"), int64(-1), int64(1))),
		list(
			nil, list(int64(0), text("0")), list(int64(3), text("0")), list(int64(-1), text("0")), list(int64(1), int64(0)),
			list(int64(0), text("id"), int64(1), int64(2)), list(int64(1), text("id"), int64(1), int64(1)),
			list(int64(0), text("id"), nil, int64(1)), list(int64(1), text("x")), list(int64(1), nil),
		),
	},
	{
		"release", asked(&scripts.Release, "id", 1000), only(parseReleased),
		list(text("released"), text("not held"), text("handed on")),
		list("released", text("RELEASED"), int64(1), list(text("released"))),
	},
	{
		"repair what was kept", asked(&scripts.Repair, 1000, "", "id/kept"), only(parseRepaired),
		list(int64(0), int64(1<<62)), list(int64(-1), text("0"), list(int64(0))),
	},
	{
		"extend", asked(&scripts.Extend, "id", "to", 1000, 0), only(parseExtended),
		list(
			list(text("ours"), text(""), int64(-1)), list(text("bare"), text(""), int64(0)),
			list(text("other"), text(""), int64(0)), list(text("free"), text(""), int64(-2)),
		),
		list(
			list(text("ours"), text("id"), int64(1)), list(text("bare"), text("id"), int64(1)),
			list(text("ours"), text(""), int64(-2)), list(text("other"), text("id"), int64(-2)),
			list(text("free"), text("id"), int64(-2)), list(text("free"), text(""), int64(-1)),
			list(text("free"), text(""), int64(1)), list(text("reset"), text("id"), int64(1)),
			list("ours", text(""), int64(1)), list(text("ours"), nil, int64(1)),
		),
	},
	{
		"owner", asked(&scripts.Owner), only(parseHeld),
		list(list(), list(text(""), int64(-2)), list(text("id"), int64(1<<62))),
		list(nil, list(text("id"), text("1")), list("id", int64(1)), text("id")),
	},
	{
		"reset", asked(&scripts.Reset, 1000), func(reply any) error { _, err := parseReset(reply); return err },
		list(
			list(text("reset"), text(""), int64(-1)), list(text("other"), text("id"), int64(1)),
			list(text("free"), text(""), int64(-2)),
		),
		list(
			list(text("reset"), text("id"), int64(-2)), list(text("free"), text("id"), int64(-2)),
			list(text("free"), text(""), int64(0)), list(text("ours"), text(""), int64(1)), list(),
		),
	},
	{
		"look at a lock", asked(&scripts.Look, "0"), // its one key is the register, so it looks at none
		func(reply any) error { _, err := parseAllLeft(reply, 0, parseLeft); return err },
		list(list()), list(nil, list(int64(1)), text("foreign")),
	},
	{
		"look at two locks", Run{&scripts.Look, []string{"a", "b", "register"}, list("0")}.command(false),
		func(reply any) error { _, err := parseAllLeft(reply, 2, parseLeft); return err },
		list(list(int64(-2), text("foreign")), list(int64(-1), int64(1<<62))),
		list(list(int64(-2), text("others")), list(int64(-3), int64(1)), list(int64(1)), list(nil, int64(1))),
	},
	{
		"compare", asked(&scripts.Register), only(parseCompared),
		list(list(text("done"), nil), list(text("not done"), text("7")), list(text("foreign"), text("x"))),
		list(list(text("foreign"), nil), list(text("done")), list(text("done"), int64(7)), list(int64(1), text("7"))),
	},
	{
		"members", asked(&scripts.PoolMembers), only(parseTexts),
		list(list(), list(text(""), text("a"))), list(nil, list(nil), list(int64(1)), text("a")),
	},
	{
		"assign", asked(&scripts.PoolAssign),
		func(reply any) error { _, _, err := parseAssigned(reply); return err },
		list(list(int64(0), int64(2))), list(list(text("0"), text("2")), list(int64(1)), list(nil, nil)),
	},
	{
		"change", asked(&scripts.PoolChange), only(parseChanged),
		list(int64(0), int64(3)), list(int64(-1), text("3"), list(int64(3))),
	},
	{
		"take", Run{&scripts.Take, []string{"a", "b"}, nil}.command(false),
		func(reply any) error { _, err := parsePlaces(reply, 2); return err },
		list(list(), list(int64(1), int64(2))),
		list(nil, list(int64(0)), list(int64(3)), list(text("1")), list(nil), list(int64(1), int64(3))),
	},
	{
		"probe", asked(&scripts.Probe, texts(Tries)...), func(reply any) error { return parseProbed(reply).Err },
		list(probed(len(Tries))), list(nil, probed(len(Tries)-1), append(probed(len(Tries)-1), nil)),
	},
	{
		"scan",
		redisconn.Command{Name: "SCAN", Fits: fitsScan},
		func(reply any) error { _, _, err := parseScan(reply); return err },
		list(list(text("0"), list()), list(text("17"), list(text("lock:a")))),
		list(list(nil, list()), list(text("0"), nil), list(text("0"), list(nil)), list(text("0"), list(int64(1)))),
	},
	{
		"time",
		redisconn.Command{Name: "TIME", Fits: fitsTime},
		only(parseTime),
		list(list(text("1700000000"), text("999999")), list(int64(1700000000), int64(0))),
		list(list(nil, nil), list(text("1"), nil), list(text("x"), text("0")), list(text("1")), text("1")),
	},
}

func probed(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = text("ok")
	}
	return all
}

// Every reply is either one that the command can have, which is taken in, or it is ErrReply. Both
// of those who look at it say the same: what comes for a command (Fits), and what takes it in. A
// reply that the first lets through and the second refuses would be somebody else's, on a
// connection that goes on.
func TestRepliesAreTakenInOrRefused(t *testing.T) {
	t.Parallel()
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			for _, reply := range q.good {
				if !q.fits(t, reply) {
					t.Errorf("%s is refused", parrot.Show(reply))
				}
			}
			for _, reply := range q.bad {
				if q.fits(t, reply) {
					t.Errorf("%s is taken in", parrot.Show(reply))
				}
			}
			for _, data := range parrot.Seeds() {
				q.fits(t, parrot.Make(data))
			}
			for _, other := range questions {
				for _, reply := range other.good {
					q.fits(t, reply)
				}
			}
		})
	}
}

// FuzzReplies is the same for whatever a server or a proxy may reply.
func FuzzReplies(f *testing.F) {
	f.Add([]byte{7, 2, 3, 15, 3, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, q := range questions {
			q.fits(t, parrot.Make(data))
		}
	})
}

// fits reports whether a reply is one to the question, and checks that both say so.
func (q question) fits(t *testing.T, reply any) bool {
	t.Helper()
	if _, refused := reply.(redis.Error); refused {
		return false // is told apart before
	}
	fits := q.cmd.Fits(q.cmd.Args, reply)
	err := q.parse(reply)
	if err != nil && !errors.Is(err, ErrReply) && !Decided(err) {
		t.Errorf("%s: %s is %v", q.name, parrot.Show(reply), err)
	}
	if took := !errors.Is(err, ErrReply); took != fits {
		t.Errorf("%s: %s fits: %v, and is taken in: %v", q.name, parrot.Show(reply), fits, took)
	}
	return fits
}

// A word that means something in one place means nothing in another.
func TestParseLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply     any
		lock, any signal.Left // Unknown: it is none
	}{
		{int64(-2), signal.Free, signal.Free},
		{int64(-1), signal.Forever, signal.Forever},
		{int64(0), signal.For(0), signal.For(0)},
		{int64(1500), signal.For(1500 * time.Millisecond), signal.For(1500 * time.Millisecond)},
		{text("foreign"), signal.Foreign, signal.Unknown},
		{text("others"), signal.Unknown, signal.Free},
		{int64(-3), signal.Unknown, signal.Unknown},
		{text("-2"), signal.Unknown, signal.Unknown},
		{nil, signal.Unknown, signal.Unknown},
		{list(), signal.Unknown, signal.Unknown},
	} {
		one, err := parseLeft(c.reply)
		if one != c.lock || (err != nil) != (c.lock == signal.Unknown) {
			t.Errorf("of a lock, %s is %v, %v; want %v", parrot.Show(c.reply), one, err, c.lock)
		}
		first, err := parseLeftOfAny(c.reply)
		if first != c.any || (err != nil) != (c.any == signal.Unknown) {
			t.Errorf("of several, %s is %v, %v; want %v", parrot.Show(c.reply), first, err, c.any)
		}
	}
}

// A server that does not tell its role, or tells something else, is asked in vain, and nothing
// fails.
func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, reply := range list(nil, int64(1), list(), list(nil), list(int64(1)), list(list()), redis.Error("ERR x")) {
		if got := parseRole(reply); got != "" {
			t.Errorf("%s: %q", parrot.Show(reply), got)
		}
	}
	if got := parseRole(list(text("master"), int64(0), list())); got != "master" {
		t.Errorf("the master says it is %q", got)
	}
}
