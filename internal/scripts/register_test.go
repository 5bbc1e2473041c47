package scripts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

const theRegister = "lock-reg:n"

// setTo are the arguments that set the register to 9 if what is stored is less than 7.
var setTo = []any{"<", "7", "7", "9", "0", "0"}

func holds(value string, pttl span) state { return state{theRegister: text(value, pttl)} }

func TestRegister(t *testing.T) {
	t.Parallel()
	keys := []string{theRegister}
	has := func(value string) []command { return []command{{"SET", theRegister, value}} }
	lasting := func(value string) []command { return []command{{"SET", theRegister, value, "PX", 60_000}} }
	expiring := []any{"<", "7", "7", "9", "30000", "0"}
	keeping := []any{"<", "7", "7", "9", "30000", "1"}
	deleteIt := []any{"<", "7", "7"}
	onBoth(t, Register, []test{
		{name: "read nothing", keys: keys, want: []any{"not done", nil}, after: state{}},
		{
			name: "read", keys: keys, given: has("+07.0"),
			want: []any{"not done", "+07.0"}, after: holds("+07.0", forever),
		},
		{
			name: "read by an empty argument", keys: keys, args: []any{""}, given: has("7"),
			want: []any{"not done", "7"}, after: holds("7", forever),
		},
		{name: "set absent", keys: keys, args: setTo, want: []any{"done", nil}, after: holds("9", forever)},
		{
			name: "set less", keys: keys, args: setTo, given: has("6"),
			want: []any{"done", "6"}, after: holds("9", forever),
		},
		{
			name: "not set", keys: keys, args: setTo, given: has("7"),
			want: []any{"not done", "7"}, after: holds("7", forever),
		},
		{
			name: "the expiry goes", keys: keys, args: setTo, given: lasting("6"),
			want: []any{"done", "6"}, after: holds("9", forever),
		},
		{
			name: "the expiry comes", keys: keys, args: expiring, given: has("6"),
			want: []any{"done", "6"}, after: holds("9", ms(30_000)),
		},
		{
			name: "the expiry is replaced", keys: keys, args: expiring, given: lasting("6"),
			want: []any{"done", "6"}, after: holds("9", ms(30_000)),
		},
		{
			name: "the expiry stays", keys: keys, args: keeping, given: lasting("6"),
			want: []any{"done", "6"}, after: holds("9", ms(60_000)),
		},
		{
			name: "no expiry stays", keys: keys, args: keeping, given: has("6"),
			want: []any{"done", "6"}, after: holds("9", forever),
		},
		{
			name: "no expiry to keep", keys: keys, args: keeping,
			want: []any{"done", nil}, after: holds("9", ms(30_000)),
		},
		{
			name: "the expiry of what is not set", keys: keys, args: expiring, given: lasting("7"),
			want: []any{"not done", "7"}, after: holds("7", ms(60_000)),
		},
		{name: "delete absent", keys: keys, args: deleteIt, want: []any{"done", nil}, after: state{}},
		{
			name: "delete less", keys: keys, args: deleteIt, given: has("6"),
			want: []any{"done", "6"}, after: state{},
		},
		{
			name: "not deleted", keys: keys, args: deleteIt, given: lasting("8"),
			want: []any{"not done", "8"}, after: holds("8", ms(60_000)),
		},
		{
			name: "a bad expiry", keys: keys, args: []any{"<", "7", "7", "9", "-1", "0"}, given: has("6"),
			want: fails("ERR"), after: holds("6", forever),
		},
	})
}

// TestRegisterHoldsNoNumber: what is no number is told as it is and stays, whatever is asked.
func TestRegisterHoldsNoNumber(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1", 401)
	var tests []test
	for name, args := range map[string][]any{
		"read": nil, "set": setTo, "set whatever it is": {"<=>", "7", "7", "9", "0", "0"},
		"delete": {"<=>", "7", "7"},
	} {
		for _, value := range []string{
			"", " ", "-", ".", "+.", "e5", "abc", "nan", "NaN", "-nan", "inf", "-Inf", "Infinity",
			"0x10", "0b1", "1_000", "1,5", " 7", "7 ", "7\n", "7\x00", "\x007", "--7",
			"1e", "1e+", "1e1.5", "1e1000", "1e0x1", "1.2.3", "7f", "٧", "７", long,
		} {
			told := value
			if value == long {
				told = value[:100]
			}
			tests = append(tests, test{
				name: fmt.Sprintf("%s %.20q", name, value), keys: []string{theRegister}, args: args,
				given: []command{{"SET", theRegister, value, "PX", 60_000}},
				want:  []any{"foreign", told}, after: holds(value, ms(60_000)),
			})
		}
		tests = append(tests, test{
			name: name + " a list", keys: []string{theRegister}, args: args,
			given: []command{{"RPUSH", theRegister, "7"}},
			want:  fails("WRONGTYPE"), after: state{theRegister: list(forever, "7")},
		})
	}
	onBoth(t, Register, tests)
}

// TestRegisterOnReplica: a replica does not compare what it last heard, except to read it.
func TestRegisterOnReplica(t *testing.T) {
	t.Parallel()
	master := redistest.StartTCP(t, "repl-diskless-sync-delay 0")
	master.Do(t, "SET", theRegister, "7")
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica := redistest.Start(t, fmt.Sprintf("replicaof %s %s", host, port))
	redistest.Until(t, "the replica is in step", func() bool {
		info, _ := redis.String(replica.Do(t, "INFO", "replication"), nil)
		return strings.Contains(info, "master_link_status:up")
	})
	for name, test := range map[string]struct {
		args []any
		want any
	}{
		"read":        {nil, []any{"not done", "7"}},
		"set":         {[]any{"=", "7", "7", "9", "0", "0"}, fails("READONLY")},
		"not set":     {setTo, fails("READONLY")},
		"delete":      {[]any{"=", "7", "7"}, fails("READONLY")},
		"not deleted": {[]any{"<", "7", "7"}, fails("READONLY")},
	} {
		reply, err := call(replica.Dial(t), Register, []string{theRegister}, test.args)
		if problem := match(reply, err, test.want, span{}); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// TestRegisterOutOfMemory: a Redis that has no memory left sets nothing; all else works.
func TestRegisterOutOfMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "maxmemory-policy noeviction")
	for name, test := range map[string]struct {
		stored string
		args   []any
		want   any
		after  state
	}{
		"set":     {"6", setTo, fails("OOM"), holds("6", forever)},
		"not set": {"7", setTo, []any{"not done", "7"}, holds("7", forever)},
		"read":    {"7", nil, []any{"not done", "7"}, holds("7", forever)},
		"delete":  {"6", setTo[:3], []any{"done", "6"}, state{}},
	} {
		s.Do(t, "SET", theRegister, test.stored)
		s.Do(t, "CONFIG", "SET", "maxmemory", 1)
		reply, err := call(s.Dial(t), Register, []string{theRegister}, test.args)
		s.Do(t, "CONFIG", "SET", "maxmemory", 0)
		if problem := match(reply, err, test.want, span{}); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
		checkState(t, s, test.after, span{})
	}
}

// TestRegisterMissingRights takes each right away that the package's documentation names: nothing is
// done by half. With all of them everything works.
func TestRegisterMissingRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rights := []string{"+eval", "+evalsha", "+get", "+set", "+del", "+lrem"}
	for name, test := range map[string]struct {
		missing string
		stored  string
		args    []any
		want    any
		after   state
	}{
		"none, set":     {"", "6", setTo, []any{"done", "6"}, holds("9", forever)},
		"none, not set": {"", "7", setTo, []any{"not done", "7"}, holds("7", forever)},
		"none, delete":  {"", "6", setTo[:3], []any{"done", "6"}, state{}},
		"get":           {"+get", "6", setTo, fails(""), holds("6", forever)},
		"set":           {"+set", "6", setTo, fails(""), holds("6", forever)},
		"del":           {"+del", "6", setTo[:3], fails(""), holds("6", forever)},
		"lrem":          {"+lrem", "7", setTo, fails(""), holds("7", forever)},
	} {
		s.Do(t, "SET", theRegister, test.stored)
		setuser := []any{"SETUSER", "u", "reset", "on", "nopass", "~lock-reg:*"}
		for _, right := range rights {
			if right != test.missing {
				setuser = append(setuser, right)
			}
		}
		s.Do(t, "ACL", setuser...)
		c := s.Dial(t)
		if _, err := c.Do("AUTH", "u", "any"); err != nil {
			t.Fatal(err)
		}
		reply, err := call(c, Register, []string{theRegister}, test.args)
		if problem := match(reply, err, test.want, span{}); problem != "" {
			t.Errorf("without %q: %s", name, problem)
		}
		checkState(t, s, test.after, span{})
	}
}
