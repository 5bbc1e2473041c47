package chaos_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

var mutants = flag.Bool("mutants", false, "look whether 20 s of chaos notice known bugs")

// A mutant is a way to break the library. The names are those of the reliability page.
type mutant struct {
	name  string
	edits []edit
	args  []string
}

// An edit replaces a text that must be there once.
type edit struct{ file, old, new string }

var known = []mutant{
	{name: "m1 deadline from the reply", edits: []edit{
		{"lock/attempt.go", "renewal.At(before)", "renewal.Now()"},
		{"renewal/run.go", "t.confirmLocked(req, sent, now)", "t.confirmLocked(req, now, now)"},
	}},
	{name: "m3 release without compare", edits: []edit{
		{"internal/scripts/release.lua", "local ours = owner == ARGV[1]", "local ours = owner"},
	}},
	{name: "m4 extend without compare", args: []string{"-operator"}, edits: []edit{
		{"internal/scripts/extend.lua", "local ours = owner == ARGV[1]", "local ours = owner"},
		{"internal/scripts/extend.lua", "if ours and KEYS[3] then", "if false then"}, // it compares, too
	}},
	{name: "m8 late reply accepted", edits: []edit{
		{"renewal/set.go", "case lease.left(now) <= 0:", "case lease.left(now) <= 0 && false:"},
	}},
}

// TestMutants shows that chaos finds bugs: a checker that has never found one proves nothing. Each
// mutant is made in a copy of the module, where the chaos run must fail because of a rule.
func TestMutants(t *testing.T) {
	t.Parallel()
	if !*mutants {
		redistest.Skip(t, "20 s of chaos for each mutant take long; -mutants has them run")
	}
	for _, m := range known {
		t.Run(m.name, func(t *testing.T) {
			dir := copied(t)
			for _, e := range m.edits {
				e.apply(t, dir)
			}
			args := append([]string{
				"test", "./internal/chaos", "-count=1", "-v", "-timeout=5m", "-run=^TestFaultChaos$", "-args",
				"-duration=20s", "-ttl=100ms", "-out=" + t.TempDir(),
			}, m.args...)
			cmd := exec.Command("go", args...)
			cmd.Dir = dir
			text, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(text), "violations") {
				t.Fatalf("not caught: %v\n%s", err, text)
			}
			t.Logf("caught:\n%s", excerpt(string(text)))
		})
	}
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
	root, dir := filepath.Join("..", ".."), t.TempDir()
	for _, part := range []string{"lock", "renewal", "signal", "internal"} {
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
