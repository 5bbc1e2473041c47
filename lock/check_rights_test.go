package lock_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Each right that the document names has a finding, and one that is missing is told, with the rule to
// add; the others are there all the same. Nothing is left behind, whichever is missing.
func TestCheckMissingRight(t *testing.T) {
	t.Parallel()
	minimal, more := aclDocumented(t)
	advice := append(slices.Concat(more["NoExpiry"], more["List"], more["names in CLIENT LIST"]),
		"+blpop", "+hset") // without these two everything works, in its way
	all := slices.Concat(minimal, more["NoExpiry"], more["List"], more["names in CLIENT LIST"])
	dependent := map[string][]string{ // cannot be tried without
		"+del":  {"+lpush", "+hset"},
		"+eval": all,
	}
	s := redistest.Start(t)
	for _, right := range all {
		t.Run(right, func(t *testing.T) {
			a := newACLCase(t, s, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == right }))
			c := a.client(nil)
			defer c.Close()
			findings := check(t, c)
			level := lock.LevelProblem
			if slices.Contains(advice, right) {
				level = lock.LevelAdvice
			}
			checkFound(t, findings["right "+right], level, "add "+right+" to")
			for _, other := range all {
				got := findings["right "+other].Level
				if other != right && got != lock.LevelOK &&
					(got != lock.LevelUnknown || !slices.Contains(dependent[right], other)) {
					t.Errorf("without %s: %v", right, findings["right "+other])
				}
				delete(findings, "right "+other)
			}
			for subject := range findings {
				if strings.HasPrefix(subject, "right ") {
					t.Errorf("%s is not in %s", subject, aclDocument)
				}
			}
			if keys := s.Keys(t, "*"); len(keys) != 0 {
				t.Errorf("left behind: %q", keys)
			}
		})
	}
}

// A user who may do nothing gets all rights by following the remedies, under a prefix that would mean
// something else in a pattern, and with keys of another format.
func TestCheckRemedies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format, rule string
		foreign      string // what the rule would allow if nothing in it were escaped
	}{
		"prefix":        {"", `~app\*\[1\]\?:lock:*`, "appX1Y:lock:job"},
		"format":        {"mutex[1]/%s", `~app\*\[1\]\?:mutex\[1\]/*`, "app*[1]?:mutex1/job"},
		"name in front": {"%s.lock[1]", `~app\*\[1\]\?:*.lock\[1\]`, "app*[1]?:job.lock1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRemedies(t, &lock.Options{Prefix: "app*[1]?:", KeyFormat: test.format}, test.rule, test.foreign)
		})
	}
}

// checkRemedies follows the remedies until there are none.
func checkRemedies(t *testing.T, o *lock.Options, rule, foreign string) {
	s := redistest.Start(t)
	a := newACLCase(t, s, nil)
	c := a.client(o)
	defer c.Close()
	for round := 0; ; round++ {
		args := []any{"SETUSER", a.user}
		for subject, f := range check(t, c) {
			rule, is := strings.CutPrefix(subject, "right ")
			if !is || f.Level == lock.LevelOK || f.Level == lock.LevelUnknown {
				continue
			}
			if f.Remedy != "add "+rule+" to the user's rules" {
				t.Fatal(f)
			}
			args = append(args, rule)
		}
		if len(args) == 2 {
			break
		}
		if round == 4 {
			t.Fatalf("still missing: %q", args)
		}
		s.Do(t, "ACL", args...)
	}
	for subject, f := range check(t, c) {
		if strings.HasPrefix(subject, "right ") && f.Level != lock.LevelOK {
			t.Error(f)
		}
	}
	if _, told := check(t, c)["right "+rule]; !told {
		t.Errorf("no finding about %s", rule)
	}
	if err := c.Do(soon(t), "job", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	conn := s.Dial(t)
	if _, err := conn.Do("AUTH", a.user, "s3cret"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Do("GET", foreign); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("GET %s: %v, want NOPERM", foreign, err)
	}
}

// What the document shows is what Check says, save for what differs from one machine to the next.
func TestCheckDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(aclDocument)
	if err != nil {
		t.Fatal(err)
	}
	minimal, more := aclDocumented(t)
	s := redistest.Start(t, "maxmemory 100mb", "maxmemory-policy allkeys-lru")
	a := newACLCase(t, s, append(minimal, more["Check"]...))
	c := a.client(nil)
	defer c.Close()
	findings, err := c.Check(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	varies := []string{"version", "clock", "latency"}
	for _, f := range findings {
		line := f.String()
		if slices.Contains(varies, f.Subject) {
			line, _, _ = strings.Cut(line, ":")
		}
		if !strings.Contains(string(text), "\n"+line) {
			t.Errorf("%s does not show:\n%s", aclDocument, line)
		}
	}
}
