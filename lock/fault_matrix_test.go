package lock_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page on reliability names tests. Each of them must be there, and each row of its matrix must have
// one.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\bTest[A-Z]\w+`)
	there := faultTests(t)
	for _, test := range name.FindAllString(string(page), -1) {
		if !there[test] {
			t.Errorf("docs/reliability.md names %s, which is no test", test)
		}
	}
	for row := 1; row <= 47; row++ {
		_, rest, ok := strings.Cut(string(page), fmt.Sprintf("\n| %d | ", row))
		line, _, _ := strings.Cut(rest, "\n")
		if !ok || !name.MatchString(line) {
			t.Errorf("docs/reliability.md has no test for row %d", row)
		}
	}
}

// faultTests returns the names of all tests of the module.
func faultTests(t *testing.T) map[string]bool {
	t.Helper()
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range test.FindAllSubmatch(source, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
