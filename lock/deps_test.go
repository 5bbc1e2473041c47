package lock_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

const module = "github.com/holdfast-go/holdfast/"

// imports returns what a package of ours imports, directly or not, outside the standard library.
func imports(t *testing.T, pkg string) []string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		redistest.Skip(t, "there is no go command: "+err.Error())
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		module+pkg)
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

// Programs that use the library get two modules and nothing else, and dependencies run one way.
func TestDependencies(t *testing.T) {
	t.Parallel()
	for pkg, allowed := range map[string][]string{
		"renewal": {module + "renewal"},
		"signal":  {module + "signal"},
		"lock": {
			module + "lock", module + "renewal", module + "signal",
			module + "internal/bridge", module + "internal/owner", module + "internal/redisconn",
			module + "internal/scripts",
			"github.com/gomodule/redigo/redis", "github.com/oklog/ulid/v2",
		},
	} {
		for _, path := range imports(t, pkg) {
			if !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", pkg, path)
			}
		}
	}
}
