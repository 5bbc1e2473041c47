package lock_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// checkState looks at the findings about a Redis that takes no locks: one says why, in few of Redis's
// words, and what cannot be found out for that reason refers to it.
func checkState(t testing.TB, findings map[string]lock.Finding, code string) {
	t.Helper()
	checkFound(t, findings["state"], lock.LevelProblem, code)
	referring := 0
	for subject, f := range findings {
		if len(f.Text) > 200 || strings.Contains(f.Text, ". ") {
			t.Errorf("%v: too long", f)
		}
		if subject != "state" && strings.Contains(f.String(), code) {
			t.Errorf("%v: the finding is the state's", f)
		}
		if f.Level != lock.LevelUnknown {
			continue
		}
		referring++
		if !strings.Contains(f.Text, ": see state") || f.Remedy != "" {
			t.Errorf("%v: does not refer to the state", f)
		}
	}
	if referring == 0 && code != "OOM" {
		t.Error("nothing refers to the state")
	}
}

func TestCheckState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, code string
		conf       []string
		prepare    func(t *testing.T, s *redistest.Server)
	}{
		{"cluster without slots", "CLUSTERDOWN", []string{"cluster-enabled yes"}, nil},
		{"too few replicas", "NOREPLICAS", []string{"min-replicas-to-write 1"}, nil},
		{"replica", "READONLY", []string{"replicaof 127.0.0.1 1"}, nil},
		{"script", "BUSY", []string{"lua-time-limit 50"}, checkBusy},
		{"snapshots fail", "MISCONF", []string{"save 3600 1", "dir /proc"}, checkMisconf},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(strings.Join(test.conf, " "), "/proc") && runtime.GOOS != "linux" {
				redistest.Skip(t, "there is no directory that nobody can write to")
			}
			s := redistest.Start(t, test.conf...)
			c := open(t, s, nil)
			if test.prepare != nil {
				test.prepare(t, s)
			}
			checkState(t, check(t, c), test.code)
		})
	}
}

// A replica that has lost its master says one of two things, by its version.
func TestCheckStaleReplica(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "replicaof 127.0.0.1 1", "replica-serve-stale-data no")
	f := check(t, open(t, s, nil))["state"]
	checkFound(t, f, lock.LevelProblem, "connect to the master")
	if !strings.HasPrefix(f.Text, "READONLY") && !strings.HasPrefix(f.Text, "MASTERDOWN") {
		t.Error(f)
	}
}

// checkBusy has the server run a script that does not end.
func checkBusy(t *testing.T, s *redistest.Server) {
	conn := s.Dial(t)
	if err := conn.Send("EVAL", "while true do end", 0); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	other := s.Dial(t)
	redistest.Until(t, "the server is busy", func() bool {
		_, err := other.Do("PING")
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
}

// checkMisconf has a snapshot fail.
func checkMisconf(t *testing.T, s *redistest.Server) {
	s.Do(t, "BGSAVE")
	redistest.Until(t, "the snapshot has failed", func() bool {
		info, _ := redis.String(s.Do(t, "INFO", "persistence"), nil)
		return strings.Contains(info, "rdb_last_bgsave_status:err")
	})
}

// A server that reads its data after a start.
func TestCheckLoading(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly yes", "appendfsync no",
		"key-load-delay 10", "loading-process-events-interval-bytes 1024")
	c := open(t, s, nil)
	check(t, c)
	conn := s.Dial(t)
	for range 30_000 { // it looks after its clients once in a thousand, and Check sends several times
		if err := conn.Send("INCR", "key"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	loading := make(chan map[string]lock.Finding, 1)
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	go func() { // ends with the test, or when it has seen the state
		for ctx.Err() == nil {
			all, err := c.Check(ctx)
			if err == nil && strings.Contains(all[0].Text, "LOADING") {
				findings := map[string]lock.Finding{}
				for _, f := range all {
					findings[f.Subject] = f
				}
				loading <- findings
				return
			}
		}
	}()
	s.Restart(t)
	checkState(t, await(t, "a Check while Redis reads its data", loading), "LOADING")
}

// A user who may not try is told of the rights, and that is not the server's state.
func TestCheckStateWithoutRights(t *testing.T) {
	t.Parallel()
	minimal, _ := aclDocumented(t)
	s := redistest.Start(t, "lua-time-limit 50")
	for _, right := range []string{"+set", "~lock:*"} {
		a := newACLCase(t, s, slices.DeleteFunc(slices.Clone(minimal), func(r string) bool {
			return r == right
		}))
		c := a.client(nil)
		checkFound(t, check(t, c)["state"], lock.LevelUnknown, "right to SET")
		_ = c.Close()
	}
	// Without EVAL, SET tells; without that, EVAL.
	a := newACLCase(t, s, slices.DeleteFunc(minimal, func(r string) bool { return r == "+eval" }))
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", 1)
	c := a.client(nil)
	defer c.Close()
	checkFound(t, check(t, c)["state"], lock.LevelProblem, "NOREPLICAS")
	s.Do(t, "ACL", "SETUSER", a.user, "+eval", "-evalsha", "-set")
	checkBusy(t, s)
	checkFound(t, check(t, c)["state"], lock.LevelProblem, "BUSY")
}

// What INFO and CONFIG do not tell a user for want of a right has a remedy.
func TestCheckWithoutInfo(t *testing.T) {
	t.Parallel()
	minimal, _ := aclDocumented(t)
	s := redistest.Start(t)
	c := newACLCase(t, s, minimal).client(nil)
	defer c.Close()
	findings := check(t, c)
	checkFound(t, findings["version"], lock.LevelUnknown, "allow +info")
	checkFound(t, findings["timeout"], lock.LevelUnknown, "allow +config|get")
}

// Who has all the rights of the document leaves nothing in ACL LOG; ROLE, which is none of them, is
// sent only if INFO does not tell the role.
func TestCheckSendsNothingElse(t *testing.T) {
	t.Parallel()
	minimal, more := aclDocumented(t)
	s := redistest.Start(t)
	a := newACLCase(t, s, slices.Concat(minimal, more["Check"], more["NoExpiry"], more["List"],
		more["names in CLIENT LIST"], more["ending what was given up"]))
	c := a.client(nil)
	defer c.Close()
	check(t, c)
	if denied := a.denials(); len(denied) != 0 {
		t.Errorf("denied: %q", denied)
	}
	if n := s.CommandCounts(t)["role"]; n != 0 {
		t.Errorf("ROLE was sent %d times, though INFO tells", n)
	}
}

// What Check says about persistence, done, outlasts a restart.
func TestCheckRemedyLasts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	checkFound(t, check(t, c)["persistence"], lock.LevelAdvice, "CONFIG SET appendonly yes, and in redis.conf")
	s.Do(t, "CONFIG", "SET", "appendonly", "yes")
	s.Do(t, "CONFIG", "REWRITE")
	s.Kill(t)
	s.Restart(t)
	checkFound(t, check(t, c)["persistence"], lock.LevelOK, "everysec")
}
