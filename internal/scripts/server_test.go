package scripts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// The arguments of a usual call of each script for the lock n and the owner "me".
var (
	acquireCall = usual{Acquire, []string{theLock, theFence}, []any{"me", 30_000, fenceTTL}}
	extendCall  = usual{Extend, []string{theLock, theSignal}, []any{"me", "to", 30_000, 0}}
	releaseCall = usual{Release, []string{theLock, theSignal}, []any{"me", signalTTL}}
	keepCall    = usual{Release, []string{theLock, theSignal}, []any{"me", signalTTL, 60_000}}
	adoptCall   = usual{Acquire, []string{theLock, theFence}, []any{"me", 30_000, fenceTTL, "", "old"}}
	resetCall   = usual{Reset, []string{theLock, theSignal}, []any{signalTTL, "me"}}
	repairCall  = usual{Repair, []string{theLock, theSignal}, []any{signalTTL}}
	ownerCall   = usual{Owner, []string{theLock}, nil}
	lookCall    = usual{Look, []string{theLock, waiting}, []any{5000, 1, "n", 2}}
)

type usual struct {
	script Script
	keys   []string
	args   []any
}

func (u usual) on(c redis.Conn) (any, error) { return call(c, u.script, u.keys, u.args) }

// TestReplica asks a replica: what it would have to write, and any "not owner" or "free" that ends
// a lease or wakes a waiter, must be READONLY and not what the replica last heard.
func TestReplica(t *testing.T) {
	t.Parallel()
	master := redistest.StartTCP(t, "repl-diskless-sync-delay 0")
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica := redistest.Start(t, fmt.Sprintf("replicaof %s %s", host, port))
	redistest.Until(t, "the replica is in step", func() bool {
		info, _ := redis.String(replica.Do(t, "INFO", "replication"), nil)
		return strings.Contains(info, "master_link_status:up")
	})
	tests := []struct {
		name   string
		holder string // "" if nobody
		call   usual
		want   any
	}{
		{"acquire free", "", acquireCall, fails("READONLY")},
		{"acquire taken", "you", acquireCall, []any{"you", ms(60_000)}},
		{"acquire again", "me", acquireCall, fails("READONLY")},
		{"extend ours", "me", extendCall, fails("READONLY")}, // though it has more left than asked for
		{"extend another's", "you", extendCall, fails("READONLY")},
		{"extend free", "", extendCall, fails("READONLY")},
		{"release ours", "me", releaseCall, fails("READONLY")},
		{"release another's", "you", releaseCall, fails("READONLY")},
		{"release free", "", releaseCall, fails("READONLY")},
		{"adopt ours", "old", adoptCall, fails("READONLY")},
		{"adopt another's", "you", adoptCall, fails("READONLY")},
		{"adopt free", "", adoptCall, fails("READONLY")},
		{"look whether ours", "me", usual{Extend, extendCall.keys, []any{"me", "check", 0, 0}}, fails("READONLY")},
		{"given id is there", "me", usual{Acquire, acquireCall.keys, []any{"me", 30_000, fenceTTL, "chosen"}}, fails("READONLY")},
		{"release what is kept", "me/kept", keepCall, fails("READONLY")},
		{"reset taken", "me", resetCall, fails("READONLY")},
		{"reset taken by another", "you", resetCall, fails("READONLY")},
		{"reset free", "", resetCall, fails("READONLY")},
		{"repair free", "", repairCall, fails("READONLY")},
		{"owner", "you", ownerCall, []any{"you", ms(60_000)}},
		{"look", "you", lookCall, []any{ms(60_000)}},
	}
	writer, c := master.Dial(t), replica.Dial(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			given := []command{{"FLUSHALL"}}
			if test.holder != "" {
				given = append(given, command{"SET", theLock, test.holder, "PX", 60_000})
			}
			give(t, writer, given)
			// WAIT waits for what its own connection wrote.
			if got, err := writer.Do("WAIT", 1, 10_000); got != int64(1) || err != nil {
				t.Fatalf("WAIT: %v replicas, %v", got, err)
			}
			before := len(replica.Keys(t, "*"))
			reply, err := test.call.on(c)
			if problem := match(reply, err, test.want, span{}); problem != "" {
				t.Error(problem)
			}
			if after := len(replica.Keys(t, "*")); after != before {
				t.Errorf("%d keys, had %d", after, before)
			}
		})
	}
}

// TestOutOfMemory: a Redis that has no memory left gives locks back, and takes none by half.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "maxmemory-policy noeviction")
	c := s.Dial(t)
	onFull := func(call usual, given ...command) (any, error) {
		s.Do(t, "CONFIG", "SET", "maxmemory", 0)
		s.Do(t, "FLUSHALL")
		give(t, c, given)
		s.Do(t, "CONFIG", "SET", "maxmemory", 1)
		return call.on(c)
	}
	check := func(t *testing.T, reply any, err error, want any, after ...string) {
		t.Helper()
		if problem := match(reply, err, want, span{}); problem != "" {
			t.Error(problem)
		}
		if got := s.Keys(t, "lock:*"); !equal(got, after) {
			t.Errorf("the locks %q, want %q", got, after)
		}
	}

	t.Run("acquire", func(t *testing.T) {
		reply, err := onFull(acquireCall)
		check(t, reply, err, fails("OOM"))
		if fences := s.Keys(t, "*"); len(fences) != 0 {
			t.Errorf("left: %q", fences)
		}
	})
	t.Run("acquire without fence", func(t *testing.T) {
		reply, err := onFull(usual{Acquire, []string{theLock}, []any{"me", 30_000}})
		check(t, reply, err, fails("OOM"))
	})
	t.Run("acquire taken", func(t *testing.T) {
		reply, err := onFull(acquireCall, command{"SET", theLock, "you"})
		check(t, reply, err, []any{"you", -1}, theLock)
	})
	t.Run("extend", func(t *testing.T) {
		reply, err := onFull(extendCall, command{"SET", theLock, "me", "PX", 10_000})
		check(t, reply, err, []any{"ours", "", 30_000}, theLock)
	})
	t.Run("release", func(t *testing.T) {
		reply, err := onFull(releaseCall, command{"SET", theLock, "me"})
		check(t, reply, err, "released")
	})
	t.Run("release and keep", func(t *testing.T) {
		reply, err := onFull(keepCall, command{"SET", theLock, "me"})
		check(t, reply, err, "released", theLock)
		if value := s.Do(t, "GET", theLock); !matches(value, "me/kept", span{}) {
			t.Errorf("the lock holds %s", show(value))
		}
	})
	t.Run("release another's", func(t *testing.T) {
		reply, err := onFull(releaseCall, command{"SET", theLock, "you"})
		check(t, reply, err, "not held", theLock)
	})
	t.Run("reset", func(t *testing.T) {
		reply, err := onFull(resetCall, command{"SET", theLock, "me"})
		check(t, reply, err, []any{"reset", "me", -1})
	})
	t.Run("repair", func(t *testing.T) {
		reply, err := onFull(repairCall)
		check(t, reply, err, fails("OOM"))
	})
	t.Run("look", func(t *testing.T) {
		reply, err := onFull(lookCall, command{"SET", theLock, "you"})
		check(t, reply, err, []any{-1}, theLock)
	})
}

// TestMissingRights calls each script as a user who lacks one right. Nothing may be done by half,
// and a lock that was given up is given up even if its signal may not be written.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	me := command{"SET", theLock, "me", "PX", 10_000}
	stays := lock("me", ms(10_000))
	refused := fails("")
	without := func(right string) []string { return []string{"+@all", "-" + right} }
	tests := []struct {
		name   string
		rights []string
		call   usual
		given  []command
		want   any
		after  state
	}{
		{
			"acquire, no key of the fence",
			[]string{"+@all", "resetkeys", "~lock:*"},
			acquireCall,
			nil, refused,
			state{},
		},
		{"acquire, no set", without("set"), acquireCall, nil, refused, state{}},
		{"acquire, no time", without("time"), acquireCall, nil, refused, state{}},
		{"acquire, no get", without("get"), acquireCall, nil, refused, state{}},
		{
			"acquire taken, no pttl", without("pttl"), acquireCall,
			[]command{me},
			refused, stays,
		},
		{
			"acquire again, no pexpire", without("pexpire"), acquireCall,
			[]command{me, {"SET", theFence, "5"}},
			refused, stays.and(theFence, text("5", forever)),
		},
		{
			"extend, no pexpire", without("pexpire"), extendCall,
			[]command{me},
			refused, stays,
		},
		{"extend free, no lrem", without("lrem"), extendCall, nil, refused, state{}},
		{"release, no del", without("del"), releaseCall, []command{me}, refused, stays},
		{"release free, no lrem", without("lrem"), releaseCall, nil, refused, state{}},
		{"release, no llen", without("llen"), releaseCall, []command{me}, "released", state{}},
		{"release, no lpush", without("lpush"), releaseCall, []command{me}, "released", state{}},
		{
			"release, no pexpire", without("pexpire"), releaseCall,
			[]command{me},
			"released",
			state{theSignal: list(forever, "1")},
		},
		{"reset, no del", without("del"), resetCall, []command{me}, refused, stays},
		{"reset, no pttl", without("pttl"), resetCall, []command{me}, refused, stays},
		{
			"reset, no lpush", without("lpush"), resetCall,
			[]command{me},
			[]any{"reset", "me", ms(10_000)},
			state{},
		},
		{"repair, no lpush", without("lpush"), repairCall, nil, refused, state{}},
		{"repair, no exists", without("exists"), repairCall, nil, refused, state{}},
		{"owner, no get", without("get"), ownerCall, []command{me}, refused, stays},
		{
			"look, no hset", without("hset"), lookCall,
			[]command{me},
			[]any{ms(10_000)},
			stays,
		},
		{"look, no pttl", without("pttl"), lookCall, []command{me}, refused, stays},
		{"look, no type", without("type"), lookCall, []command{me}, refused, stays},
	}
	s := redistest.Start(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.Do(t, "FLUSHALL")
			c := s.Dial(t)
			give(t, c, test.given)
			setuser := []any{"SETUSER", "u", "reset", "on", "nopass", "~*", "&*"}
			for _, right := range test.rights {
				setuser = append(setuser, right)
			}
			s.Do(t, "ACL", setuser...)
			if _, err := c.Do("AUTH", "u", "any"); err != nil {
				t.Fatal(err)
			}
			reply, err := test.call.on(c)
			if test.want == refused {
				var e redis.Error
				if !errors.As(err, &e) {
					t.Errorf("reply %v, %v; want an error from Redis", reply, err)
				}
			} else if problem := match(reply, err, test.want, span{}); problem != "" {
				t.Error(problem)
			}
			checkState(t, s, test.after, span{})
		})
	}
}

// TestScriptFlush: after the server forgot a script, the text brings it back under our sum.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := s.Dial(t)
	for _, u := range []usual{
		acquireCall, extendCall, lookCall, ownerCall, releaseCall, repairCall, resetCall,
	} {
		args := []any{u.script.SHA1, len(u.keys)}
		for _, key := range u.keys {
			args = append(args, key)
		}
		args = append(args, u.args...)
		if _, err := c.Do("EVALSHA", args...); err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
			t.Errorf("%s, not loaded: %v, want NOSCRIPT", u.script.Name, err)
		}
		for range 2 {
			if _, err := u.on(c); err != nil {
				t.Errorf("%s: %v", u.script.Name, err)
			}
			if _, err := c.Do("EVALSHA", args...); err != nil {
				t.Errorf("%s, loaded by its text: %v", u.script.Name, err)
			}
			s.Do(t, "SCRIPT", "FLUSH")
		}
	}
}

// TestWakes: what release, reset and repair push wakes exactly one blocked waiter.
func TestWakes(t *testing.T) {
	t.Parallel()
	for _, u := range []usual{releaseCall, resetCall, repairCall} {
		t.Run(u.script.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			if u.script.Name != Repair.Name {
				s.Do(t, "SET", theLock, "me")
			}
			woken := make(chan error, 2)
			for range 2 {
				c := s.Dial(t)
				// Ends when it is woken or its connection is closed, and says so on woken.
				go func() {
					_, err := redis.Strings(c.Do("BLPOP", theSignal, 5))
					woken <- err
				}()
			}
			blocked := func(n int) func() bool {
				return func() bool {
					info, _ := redis.String(s.Do(t, "INFO", "clients"), nil)
					return strings.Contains(info, fmt.Sprintf("blocked_clients:%d", n))
				}
			}
			redistest.Until(t, "two waiters are blocked", blocked(2))
			if reply, err := u.on(s.Dial(t)); err != nil {
				t.Fatal(reply, err)
			}
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
			if keys := s.Keys(t, "*"); !blocked(1)() || len(keys) != 0 {
				t.Errorf("more than one waiter was woken, or something is left: %q", keys)
			}
			s.Do(t, "RPUSH", theSignal, "1")
			if err := <-woken; err != nil {
				t.Error(err)
			}
		})
	}
}

func equal(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
