package lock_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

// What programs get that use the library: two modules, and nothing else.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"github.com/holdfast-go/holdfast/lock").Output()
	if err != nil {
		redistest.Skip(t, "go list does not work here: "+err.Error())
	}
	for _, path := range strings.Fields(string(out)) {
		known := false
		for _, ours := range []string{
			"github.com/holdfast-go/holdfast/", "github.com/gomodule/redigo/", "github.com/oklog/ulid/v2",
		} {
			known = known || strings.HasPrefix(path, ours)
		}
		if !known || strings.Contains(path, "redistest") || strings.Contains(path, "faultproxy") {
			t.Errorf("lock imports %s", path)
		}
	}
	out, _ = exec.Command("go", "list", "-deps", "github.com/holdfast-go/holdfast/renewal").Output()
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "redis") || strings.HasSuffix(path, "/lock") {
			t.Errorf("renewal imports %s", path)
		}
	}
	out, _ = exec.Command("go", "list", "-deps", "github.com/holdfast-go/holdfast/signal").Output()
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "redis") || strings.HasSuffix(path, "/lock") {
			t.Errorf("signal imports %s", path)
		}
	}
}
