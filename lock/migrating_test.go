package lock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/doccheck"
)

// migratingRows returns the rows of the tables of docs/migrating.md whose last column has this title,
// each as its cells.
func migratingRows(t *testing.T, title string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	inside := false
	for line := range strings.Lines(string(page)) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "/")
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch last := strings.TrimSpace(cells[len(cells)-1]); {
		case last == title:
			inside = true
		case inside && !strings.HasPrefix(last, "---"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("docs/migrating.md has no table with a last column %q", title)
	}
	return rows
}

// The page on migrating says which tests show each feature. They must be there, and each row must have
// one; so must the checks of the contract that it calls by their names.
func TestMigratingNamesTests(t *testing.T) {
	t.Parallel()
	tests, checks := doccheck.Tests(t, ".."), contractChecks(t)
	test := regexp.MustCompile(`\bTest[A-Z]\w+`)
	for _, row := range migratingRows(t, "tests") {
		feature, shown := row[1], row[len(row)-1]
		found := test.FindAllString(shown, -1)
		for _, name := range found {
			if !tests[name] {
				t.Errorf("%s: %s is no test", feature, name)
			}
		}
		_, list, _ := strings.Cut(shown, "contract:")
		list, _, _ = strings.Cut(list, ";")
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			found = append(found, name)
			if !checks[name] {
				t.Errorf("%s: the contract has no check %q", feature, name)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s: no test shows it", feature)
		}
	}
}

// contractChecks returns the names of the contract's checks.
func contractChecks(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../internal/testing/contract/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no contract: %v", err)
	}
	name := regexp.MustCompile(`\{name: "([^"]+)"`)
	names := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllSubmatch(source, -1) {
			names[string(found[1])] = true
		}
	}
	return names
}

// What the page says is "here" must be here: each name that stands there as code.
func TestMigratingNamesAreThere(t *testing.T) {
	t.Parallel()
	there := exported(t)
	code, name := regexp.MustCompile("`[^`]+`"), regexp.MustCompile(`\b[A-Z][A-Za-z]*[a-z]\w*|\bTTL\b|\bID\b`)
	for _, row := range migratingRows(t, "here") {
		for _, part := range code.FindAllString(row[len(row)-1], -1) {
			for _, found := range name.FindAllString(part, -1) {
				if !there[found] && found != "Minute" && found != "Second" {
					t.Errorf("%s: there is no %s", strings.TrimSpace(row[0]), found)
				}
			}
		}
	}
}

// exported returns the names that the packages for users export, those of fields and methods too.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, pkg := range []string{"lock", "pool", "register", "once", "embedded", "locktest"} {
		files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no package %s: %v", pkg, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.FileExports(parsed)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					names[id.Name] = true
				}
				_, body := n.(*ast.BlockStmt)
				return !body
			})
		}
	}
	return names
}
