package lock_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// check runs Check, which must succeed, and returns the findings by subject.
func check(t testing.TB, c *lock.Client) map[string]lock.Finding {
	t.Helper()
	all, err := c.Check(soon(t))
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	findings := map[string]lock.Finding{}
	for _, f := range all {
		if _, twice := findings[f.Subject]; twice || f.Text == "" {
			t.Errorf("twice, or empty: %v", f)
		}
		findings[f.Subject] = f
	}
	return findings
}

// checkFound looks for a finding's level, and for a part of its line.
func checkFound(t testing.TB, f lock.Finding, level lock.Level, part string) {
	t.Helper()
	if f.Level != level || !strings.Contains(f.String(), part) {
		t.Errorf("%v\nwant %v with %q", f, level, part)
	}
	if todo := f.Level == lock.LevelAdvice || f.Level == lock.LevelProblem; f.Level != lock.LevelUnknown &&
		todo == (f.Remedy == "") {
		t.Errorf("%v: a remedy where there is something to do, and only there", f)
	}
	if strings.Contains(f.Remedy, "CONFIG SET") && !strings.Contains(f.Remedy, "CONFIG REWRITE") {
		t.Errorf("%v: it does not outlast a restart", f)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		conf    []string
		subject string
		level   lock.Level
		part    string
	}{
		{"version", nil, "version", lock.LevelOK, " "},
		{"master", nil, "role", lock.LevelOK, "master"},
		{"no cluster", nil, "cluster", lock.LevelOK, "off"},
		{"cluster", []string{"cluster-enabled yes"}, "cluster", lock.LevelProblem, "waiting"},
		{"no limit", []string{"maxmemory-policy allkeys-lru"}, "eviction", lock.LevelOK, "never"},
		{
			"no eviction",
			[]string{"maxmemory 100mb", "maxmemory-policy noeviction"},
			"eviction", lock.LevelOK, "never",
		},
		{
			"eviction",
			[]string{"maxmemory 100mb", "maxmemory-policy volatile-ttl"},
			"eviction", lock.LevelProblem, "volatile-ttl",
		},
		{"no persistence", nil, "persistence", lock.LevelAdvice, "a restart loses"},
		{
			"snapshots",
			[]string{"save 3600 1", "save 60 100"},
			"persistence", lock.LevelAdvice, "a crash loses locks taken since the last snapshot (save 3600 1 60 100)",
		},
		{
			"snapshots, not told",
			[]string{"save 3600 1", `rename-command CONFIG ""`},
			"persistence", lock.LevelAdvice, "if save is off",
		},
		{
			"fsync not told",
			[]string{"appendonly yes", `rename-command CONFIG ""`},
			"persistence", lock.LevelUnknown, "appendfsync not told: CONFIG GET is disabled",
		},
		{"fsync", []string{"appendonly yes"}, "persistence", lock.LevelOK, "everysec"},
		{
			"no fsync",
			[]string{"appendonly yes", "appendfsync no"},
			"persistence", lock.LevelAdvice, "appendfsync everysec",
		},
		{
			"fsync always",
			[]string{"appendonly yes", "appendfsync always"},
			"persistence", lock.LevelOK, "always",
		},
		{"no replicas", nil, "replicas", lock.LevelOK, "none"},
		{"too few replicas", []string{"min-replicas-to-write 1"}, "replicas", lock.LevelProblem, "refused"},
		{"no timeout", nil, "timeout", lock.LevelOK, "0"},
		{"timeout", []string{"timeout 60"}, "timeout", lock.LevelAdvice, "60 s"},
		{"hz", nil, "hz", lock.LevelOK, "10"},
		{"low hz", []string{"hz 5"}, "hz", lock.LevelAdvice, "200 ms"},
		{"lowest hz", []string{"hz 1"}, "hz", lock.LevelAdvice, "1000 ms"},
		{"clock", nil, "clock", lock.LevelOK, "give or take"},
		{"latency", nil, "latency", lock.LevelOK, "a renewal may take 2s"},
		{"renamed", []string{`rename-command CONFIG ""`}, "timeout", lock.LevelUnknown, "CONFIG GET is disabled"},
		{
			"eviction without CONFIG",
			[]string{`rename-command CONFIG ""`, "maxmemory 1gb", "maxmemory-policy allkeys-lfu"},
			"eviction", lock.LevelProblem, "allkeys-lfu",
		},
		{
			"eviction without INFO",
			[]string{`rename-command INFO ""`, "maxmemory 1gb", "maxmemory-policy allkeys-lfu"},
			"eviction", lock.LevelProblem, "allkeys-lfu",
		},
		{"role without INFO", []string{`rename-command INFO ""`}, "role", lock.LevelOK, "master"},
		{"version without INFO", []string{`rename-command INFO ""`}, "version", lock.LevelUnknown, "INFO is disabled"},
		{"a command disabled", []string{`rename-command LREM ""`}, "right +lrem", lock.LevelProblem, "disable"},
		{"EVAL disabled", []string{`rename-command EVAL ""`}, "right +eval", lock.LevelProblem, "disable"},
		{"a script is needed", []string{`rename-command EVAL ""`}, "right +get", lock.LevelUnknown, "it needs EVAL"},
		{
			"a script is needed before keys are waited for",
			[]string{`rename-command EVAL ""`},
			"right +blpop", lock.LevelUnknown, "it needs EVAL",
		},
		{
			"no scripts",
			[]string{`rename-command EVAL ""`, `rename-command EVALSHA ""`},
			"right ~lock:*", lock.LevelUnknown, "it needs EVAL",
		},
		{
			"no scripts, so no commands",
			[]string{`rename-command EVAL ""`, `rename-command EVALSHA ""`},
			"right +get", lock.LevelUnknown, "it needs EVAL",
		},
		{"no BLPOP", []string{`rename-command BLPOP ""`}, "right +blpop", lock.LevelAdvice, "once a second"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := open(t, redistest.Start(t, test.conf...), nil)
			f := check(t, c)[test.subject]
			checkFound(t, f, test.level, test.part)
			if test.level == lock.LevelUnknown && f.Remedy != "" {
				t.Errorf("%v: no right is missing", f)
			}
		})
	}
}

// All is well: a finding for each subject, in the same order always.
func TestCheckOrder(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly yes")
	findings, err := open(t, s, nil).Check(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, f := range findings {
		if f.Level != lock.LevelOK || f.Remedy != "" {
			t.Error(f)
		}
		subjects = append(subjects, f.Subject)
	}
	want := []string{
		"state", "version", "role", "cluster", "eviction", "persistence", "replicas", "timeout", "hz", "clock",
		"latency", "right ~lock:*", "right ~lock-signal:*",
	}
	if len(subjects) < len(want) || !slices.Equal(subjects[:len(want)], want) {
		t.Errorf("the subjects %q, want first %q", subjects, want)
	}
	if keys := s.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left behind: %q", keys)
	}
}

// A replica and its master: where the locks are not, and what becomes of them at a failover.
func TestCheckReplica(t *testing.T) {
	t.Parallel()
	master := redistest.StartTCP(t, "repl-diskless-sync-delay 0")
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica := redistest.Start(t, "replicaof "+host+" "+port)
	of := open(t, master, nil)
	redistest.Until(t, "the replica is there", func() bool {
		return check(t, of)["replicas"].Level != lock.LevelOK
	})
	checkFound(t, check(t, of)["replicas"], lock.LevelAdvice, "Lease.Fence")
	findings := check(t, open(t, replica, nil))
	checkFound(t, findings["role"], lock.LevelProblem, master.Addr())
	checkFound(t, findings["state"], lock.LevelProblem, "READONLY")
	// Redis looks at the rights before it looks at its role.
	checkFound(t, findings["right +get"], lock.LevelOK, "present")
	checkFound(t, findings["right +set"], lock.LevelUnknown, "see state")
}

// A server that is out of memory takes no lock, and the rights are there all the same.
func TestCheckOutOfMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "maxmemory 1", "maxmemory-policy noeviction")
	findings := check(t, open(t, s, nil))
	checkFound(t, findings["state"], lock.LevelProblem, "OOM")
	checkFound(t, findings["eviction"], lock.LevelProblem, "no memory is left")
	checkFound(t, findings["right +lpush"], lock.LevelOK, "present")
	if keys := s.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left behind: %q", keys)
	}
}

// The embedded server tells nothing of itself: that is no error, and its rights can be tried.
func TestCheckEmbedded(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	c := open(t, redistest.At(t, "redis://"+m.Addr()), nil)
	findings := check(t, c)
	for subject, f := range findings {
		told := strings.HasPrefix(subject, "right ") || slices.Contains([]string{"state", "clock", "latency"}, subject)
		if want := map[bool]lock.Level{true: lock.LevelOK, false: lock.LevelUnknown}[told]; f.Level != want {
			t.Errorf("%v, want %v", f, want)
		}
		if f.Remedy != "" {
			t.Errorf("%v: no right would help", f)
		}
	}
	for _, step := range []struct {
		by   time.Duration
		part string
	}{{time.Hour, "1h0m0s ahead"}, {-time.Hour, "1h0m0s behind"}} {
		m.SetTime(time.Now().Add(step.by))
		f := check(t, c)["clock"]
		f.Text = strings.Replace(f.Text, "59m59.", "1h0m0s ", 1) // the test takes time, too
		if f.Level != lock.LevelAdvice || !strings.Contains(f.Text, strings.Fields(step.part)[1]) {
			t.Errorf("%v, want %v", f, step.part)
		}
	}
	if len(m.Keys()) != 0 {
		t.Errorf("left behind: %q", m.Keys())
	}
}

// Latency is judged by what a renewal may take.
func TestCheckLatency(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, test := range []struct {
		name  string
		delay time.Duration
		level lock.Level
	}{
		{"slower than a renewal may be", 120 * time.Millisecond, lock.LevelProblem},
		{"little left", 20 * time.Millisecond, lock.LevelAdvice},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := faultproxy.Start(t, s.Network(), s.Addr())
			p.Delay(faultproxy.ToClient, test.delay, "")
			c, err := lock.Open(p.URL(), &lock.Options{TTL: 600 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			checkFound(t, check(t, c)["latency"], test.level, "a renewal may take 100ms")
		})
	}
}

// A connection that broke while it was idle is made anew.
func TestCheckAfterIdle(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	check(t, c)
	s.Do(t, "CLIENT", "KILL", "TYPE", "normal")
	check(t, c)
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	closed := open(t, s, nil)
	_ = closed.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	nobody := open(t, redistest.At(t, "redis://"+listener.Addr().String()), nil)
	for _, test := range []struct {
		name string
		c    *lock.Client
		ctx  context.Context
		want error // nil: any
	}{
		{"no context", open(t, s, nil), nil, lock.ErrInvalid},
		{"ended context", open(t, s, nil), ended, context.Canceled},
		{"closed client", closed, soon(t), lock.ErrClosed},
		{"nobody listens", nobody, soon(t), nil},
	} {
		findings, err := test.c.Check(test.ctx)
		if err == nil || findings != nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v, want %v", test.name, findings, err, test.want)
		}
	}
}

// Close does not wait for a Check that gets no answer, nor does the end of its context.
func TestCheckIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"close": lock.ErrClosed, "cancel": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			p := faultproxy.Start(t, s.Network(), s.Addr())
			blocking := p.Catch(faultproxy.HoldReply, "BLPOP")
			c, err := lock.Open(p.URL(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithCancel(soon(t))
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := c.Check(ctx)
				done <- err
			}()
			await(t, "the blocking read", blocking.Done())
			if name == "close" {
				_ = c.Close()
			} else {
				cancel()
			}
			if err := await(t, "Check", done); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
}

func TestFindingStrings(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"ok       hz: 10":          lock.Finding{"hz", lock.LevelOK, "10", ""}.String(),
		"problem  a: b; remedy: c": lock.Finding{"a", lock.LevelProblem, "b", "c"}.String(),
		"advice   a: b; remedy: c": lock.Finding{"a", lock.LevelAdvice, "b", "c"}.String(),
		"unknown  a: b":            lock.Finding{"a", lock.LevelUnknown, "b", ""}.String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
