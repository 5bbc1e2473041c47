package lock_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// mostSums is how many lines of go.sum a program may get that imports nothing of ours but lock.
const mostSums = 25

// What tests import weighs on users: `go mod tidy` looks at the tests of what it imports.
func TestUsersGoSum(t *testing.T) {
	t.Parallel()
	sums := usersSums(t)
	lines := strings.Split(strings.TrimSpace(sums), "\n")
	t.Logf("%d lines", len(lines))
	if len(lines) > mostSums || !strings.Contains(sums, "github.com/gomodule/redigo ") {
		t.Errorf("a user's go.sum has %d lines, want redigo's and at most %d:\n%s",
			len(lines), mostSums, sums)
	}
}

// The module needs nothing that speaks to Docker: its go.mod is part of what users download, and what
// scanners warn them of.
func TestNoDocker(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(text), []byte("docker")) {
			t.Errorf("%s names docker: what needs it belongs into a nested module", file)
		}
	}
}

// usersSums returns the go.sum of a program that imports lock. It starts from ours, so that no server
// has to be asked for a sum that we know.
func usersSums(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.sum": string(known),
		"go.mod": fmt.Sprintf("module example.com/user\n\ngo 1.25.0\n\n"+
			"require github.com/holdfast-go/holdfast v0.0.0\n\n"+
			"replace github.com/holdfast-go/holdfast => %q\n", root),
		"main.go": "package main\n\nimport \"github.com/holdfast-go/holdfast/lock\"\n\n" +
			"func main() { _, _ = lock.Open(\"redis://localhost\", nil) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		if unreachable(string(out)) {
			redistest.Skip(t, "go mod tidy needs modules that it cannot download here: "+string(out))
		}
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	return string(sums)
}

// unreachable tells whether the go command failed because it could not download.
func unreachable(out string) bool {
	for _, why := range []string{
		"dial tcp", "i/o timeout", "no such host", "connection refused", "proxyconnect",
		"GOPROXY list is not the empty string", "disabled by GOPROXY=off", "TLS handshake timeout",
		"connection reset", "502 Bad Gateway", "503 Service Unavailable",
	} {
		if strings.Contains(out, why) {
			return true
		}
	}
	return false
}
