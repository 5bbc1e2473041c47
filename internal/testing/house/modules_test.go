package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// modules are those of others that a program gets which imports one of our packages, by these. What brings a Redis
// of its own, embedded and locktest, has a test of its own.
var modules = map[string][]string{
	"lock":     {"redigo", "ulid"},
	"pool":     {"redigo", "ulid"},
	"register": {"redigo", "ulid"},
	"once":     {"redigo", "ulid"},
	"renewal":  nil,
	"signal":   nil,
}

// TestModules asks the go command what a program gets. The picture ends where somebody else's module begins, and
// what that one imports comes along.
func TestModules(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		redistest.Skip(t, "there is no go command: "+err.Error())
	}
	for pkg, want := range modules {
		ours, theirs := needs(t, pkg)
		if !slices.Equal(theirs, want) {
			t.Errorf("%s needs %q, want %q", pkg, theirs, want)
		}
		if len(want) == 0 && !slices.Equal(ours, []string{pkg}) {
			t.Errorf("%s needs %q of ours, want nothing but itself", pkg, ours)
		}
	}
}

// needs returns what one of our packages imports, directly or not: which packages of ours, itself among them, and
// which modules of others by their short names.
func needs(t *testing.T, pkg string) (ours, theirs []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", module+"/"+pkg)
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		path, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of == module {
			ours = append(ours, strings.TrimPrefix(path, module+"/"))
		} else {
			theirs = append(theirs, short(of))
		}
	}
	slices.Sort(theirs)
	return ours, slices.Compact(theirs)
}
