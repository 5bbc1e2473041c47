package chaos_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

var mutants = flag.Bool("mutants", false, "look whether 20 s of chaos, or a minute, notice known bugs")

// A mutant is a way to break the library. The names are those of the reliability page.
type mutant struct {
	name  string
	edits []edit
	args  []string
	rule  string // that must find it; else any may
}

// An edit replaces a text that must be there once.
type edit struct{ file, old, new string }

var known = []mutant{
	{name: "m1 deadline from the reply", edits: []edit{
		{"lock/attempt.go", "renewal.At(before)", "renewal.Now()"},
		{"renewal/run.go", "t.confirmLocked(req, sent, now)", "t.confirmLocked(req, now, now)"},
	}},
	{name: "m3 release without compare", edits: []edit{
		{"internal/scripts/release.lua", "local ours, later = owner == ARGV[1],", "local ours, later = owner,"},
		{"internal/scripts/release.lua", "if ours and KEYS[3] then", "if false then"}, // it compares, too
	}},
	{name: "m4 extend without compare", args: []string{"-operator"}, edits: []edit{
		{"internal/scripts/extend.lua", "local ours = owner == ARGV[1]", "local ours = owner"},
		{"internal/scripts/extend.lua", "if ours and KEYS[3] then", "if false then"}, // it compares, too
	}},
	{name: "m5 no signal", edits: []edit{
		{"internal/scripts/release.lua", "call('LPUSH', KEYS[2], ARGV[5] or '1')", "call('LLEN', KEYS[2])"},
	}},
	{name: "m7 a signal is dropped when its waiter gives up", edits: []edit{
		{"signal/giveback.go", "	h.back[name] = &signalBack{time.Now().Add(giveFor)}\n", "	return\n"},
	}},
	{name: "m8 late reply accepted", edits: []edit{
		{"renewal/set.go", "case lease.left(now) <= 0:", "case lease.left(now) <= 0 && false:"},
	}},
	{name: "Valid does not look at the clock", args: []string{"-clients=2", "-processes=8"}, edits: []edit{
		{"renewal/term.go", "return !t.ended() && t.until.Load().left(t.set.clock()) > 0", "return !t.ended()"},
	}},
	{name: "dropped leases are renewed", edits: []edit{
		{"lock/lease.go", "func leaked(h *hold) { h.dropped.Store(true) }", "func leaked(h *hold) {}"},
	}},
	{name: "what left a pool is given out", edits: []edit{
		{"internal/scripts/acquire_any.lua", "local got = score and take(i)", "local got = take(i)"},
	}},
	{name: "a lock without expiry is left held", args: []string{"-duration=1m"}, edits: []edit{
		{"lock/unlock.go", "		until = now.Add(forEver)\n", "		until = now\n"},
	}},
	{name: "looks are dropped", rule: "gap", edits: []edit{
		{"signal/conn.go", "e != nil && i < len(left) {", "e != nil && i < len(left) && !(l.full && e.served) {"},
	}},
	{name: "kept for too short", edits: []edit{
		{"lock/unlock.go", "held && time.Until(keep) > 0", "false && time.Until(keep) > 0"},
	}},
}

// TestMutants shows that chaos finds bugs: a checker that has never found one proves nothing. Each
// mutant is made in a copy of the module, where the chaos run must fail because of a rule, and the history
// that it keeps must break it again.
func TestMutants(t *testing.T) {
	t.Parallel()
	if !*mutants {
		redistest.Skip(t, "20 s of chaos for each mutant take long; -mutants has them run")
	}
	for _, m := range known {
		t.Run(m.name, func(t *testing.T) {
			dir, kept := copied(t), t.TempDir()
			for _, e := range m.edits {
				e.apply(t, dir)
			}
			args := append([]string{"-duration=20s", "-ttl=100ms", "-out=" + kept}, m.args...)
			text := fails(t, dir, "TestFaultChaos", "violations", args...)
			t.Logf("caught:\n%s", excerpt(text))
			if m.rule != "" && !strings.Contains(text, ": "+m.rule+": ") {
				t.Errorf("not by the rule %q", m.rule)
			}
			history, err := filepath.Glob(filepath.Join(kept, "*.json"))
			if err != nil || len(history) != 1 {
				t.Fatalf("kept %q, %v; want one history", history, err)
			}
			fails(t, dir, "TestReplay", "TestReplay", "-replay="+history[0])
			if !strings.Contains(text, "linear:") {
				return
			}
			picture, err := os.ReadFile(strings.TrimSuffix(history[0], ".json") + ".html")
			if err != nil || !strings.Contains(string(picture), ", token ") {
				t.Errorf("the picture of the history: %d bytes, %v", len(picture), err)
			}
		})
	}
}

// fails runs a test of this package in a copy of the module. It must fail and say why.
func fails(t *testing.T, dir, test, why string, args ...string) (output string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{
		"test", "./internal/testing/chaos", "-count=1", "-v", "-timeout=5m", "-run=^" + test + "$", "-args",
	}, args...)...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), why) || strings.Contains(string(text), "build failed") {
		t.Fatalf("%s was to fail: %v\n%s", test, err, text)
	}
	return string(text)
}

// excerpt returns what tells which rules were broken.
func excerpt(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "_test.go:") && len(lines) < 8 {
			lines = append(lines, line[:min(len(line), 300)])
		}
	}
	return strings.Join(lines, "")
}

func (e edit) apply(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		t.Fatalf("%s has %d times %q: the mutant is out of date", e.file, n, e.old)
	}
	changed := strings.Replace(string(text), e.old, e.new, 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copied returns a copy of what the chaos run needs of the module.
func copied(t *testing.T) string {
	t.Helper()
	root, dir := filepath.Join("..", "..", ".."), t.TempDir()
	for _, part := range []string{"lock", "pool", "renewal", "signal", "internal"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
