package scripts

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

//go:embed SHA1SUMS
var sums string

// TestSums makes a change of a script a deliberate act: programs of several versions share one
// Redis, and the sum is how operators tell which script a client runs.
func TestSums(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for _, script := range All() {
		fmt.Fprintf(&want, "%s  %s.lua\n", script.SHA1, script.Name)
	}
	if sums != want.String() {
		t.Errorf("the scripts changed. If that was meant, say so in docs/wire.md and CHANGELOG.md\n"+
			"where it matters, and run:\n\n\t(cd internal/scripts && sha1sum *.lua >SHA1SUMS)\n\n"+
			"SHA1SUMS:\n%s\nscripts:\n%s", sums, want.String())
	}
}

func TestServerAgreesOnSums(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for _, script := range All() {
		got, err := redis.String(s.Do(t, "SCRIPT", "LOAD", script.Source), nil)
		if err != nil || got != script.SHA1 {
			t.Errorf("SCRIPT LOAD %s.lua: %q, %v; want %s", script.Name, got, err, script.SHA1)
		}
	}
}

func TestAllFilesAreEmbedded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) != len(All()) {
		t.Fatalf("%d files, %v; want one for each of %d scripts", len(files), err, len(All()))
	}
	for i, script := range All() {
		text, err := os.ReadFile(script.Name + ".lua")
		if err != nil || files[i] != script.Name+".lua" || string(text) != script.Source {
			t.Errorf("%s is not %s.lua (%v)", script.Name, files[i], err)
		}
		if !strings.HasPrefix(script.Source, "-- "+script.Name+" ") {
			t.Errorf("%s.lua has no header", script.Name)
		}
	}
}
