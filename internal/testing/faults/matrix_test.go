package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/doccheck"
)

// The page on reliability names tests. Each of them must be there, and each row of its matrix must have
// one.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	page := read(t, "../../../docs/reliability.md")
	name := regexp.MustCompile(`\bTest[A-Z]\w+`)
	there := doccheck.Tests(t, "../../..")
	for _, test := range name.FindAllString(page, -1) {
		if !there[test] {
			t.Errorf("docs/reliability.md names %s, which is no test", test)
		}
	}
	for row := 1; row <= 47; row++ {
		_, rest, ok := strings.Cut(page, fmt.Sprintf("\n| %d | ", row))
		line, _, _ := strings.Cut(rest, "\n")
		if !ok || !name.MatchString(line) {
			t.Errorf("docs/reliability.md has no test for row %d", row)
		}
	}
}

// The package comment says which file has which row. It must be as the page has it.
func TestFaultFiles(t *testing.T) {
	t.Parallel()
	page, comment := read(t, "../../../docs/reliability.md"), read(t, "doc.go")
	files := map[string]string{} // by the names of their tests
	paths, err := filepath.Glob("*_test.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, path := range paths {
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(t, path), -1) {
			files[found[1]] = strings.TrimSuffix(path, "_test.go")
		}
	}
	said := map[string][]string{} // by row
	for _, line := range regexp.MustCompile(`(?m)^//\t *([\d, ]+?)  +([a-z_, ]+)$`).FindAllStringSubmatch(comment, -1) {
		for row := range strings.SplitSeq(line[1], ", ") {
			said[row] = slices.Sorted(slices.Values(strings.Split(line[2], ", ")))
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| .*$`).FindAllStringSubmatch(page, -1) {
		var there []string
		for _, test := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(row[0], -1) {
			if file := files[test]; file != "" {
				there = append(there, file)
			}
		}
		slices.Sort(there)
		if there = slices.Compact(there); !slices.Equal(there, said[row[1]]) {
			t.Errorf("row %s is in %q, and doc.go says %q", row[1], there, said[row[1]])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
