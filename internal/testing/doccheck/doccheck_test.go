package doccheck

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const root = "../../.."

// A checker type-checks blocks against the packages of this module, as they are now.
type checker struct {
	fset   *token.FileSet
	loaded types.Importer
}

// newChecker returns a checker of blocks that import no other packages than these.
func newChecker(t *testing.T, all []block) *checker {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		redistest.Skip(t, "there is no go command: "+err.Error())
	}
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}"}
	list := exec.Command("go", append(args, needed(all)...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		var failed *exec.ExitError
		errors.As(err, &failed)
		t.Fatalf("go list: %v\n%s", err, failed.Stderr)
	}
	exported := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exported[path] = file
	}
	fset := token.NewFileSet()
	return &checker{fset, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exported[path] == "" {
			return nil, fmt.Errorf("there is no package %s", path)
		}
		return os.Open(exported[path])
	})}
}

// needed returns the packages that the blocks import, and those of the variables. What cannot be
// parsed is left for check to tell.
func needed(all []block) []string {
	seen := map[string]bool{}
	paths := []string{"testing", module + "lock", "github.com/gomodule/redigo/redis"}
	for _, b := range all {
		files, _ := b.parse(token.NewFileSet())
		for _, f := range files {
			for _, i := range f.Imports {
				if path := strings.Trim(i.Path.Value, "\"`"); !seen[path] {
					seen[path] = true
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// check returns what is wrong with the block.
func (c *checker) check(b block) []error {
	files, err := b.parse(c.fset)
	if err != nil {
		return []error{err}
	}
	var wrong []error
	conf := types.Config{Importer: c.loaded, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && e.Soft && !b.whole() {
			return // not used: in a fragment that is for the reader to do
		}
		wrong = append(wrong, err)
	}}
	_, _ = conf.Check("doc", c.fset, files, nil) // its error is the first one of these
	return wrong
}

// documents returns the names of the documents, from the root of the module.
func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("docs: %v, %v", docs, err)
	}
	names := []string{"README.md", "CONTRIBUTING.md"}
	for _, doc := range docs {
		names = append(names, "docs/"+filepath.Base(doc))
	}
	return names
}

// Every block of Go code in the docs compiles.
func TestDocs(t *testing.T) {
	t.Parallel()
	var all []block
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		found := blocks(name, string(text))
		if n := strings.Count(string(text), "```go"); n != len(found) {
			t.Errorf("%s: %d blocks begin, %d were found", name, n, len(found))
		}
		all = append(all, found...)
	}
	if len(all) == 0 || all[0].file != "README.md" {
		t.Errorf("no blocks in README.md")
	}
	t.Logf("%d blocks", len(all))
	all = join(all)
	c := newChecker(t, all)
	for _, b := range all {
		for _, err := range c.check(b) {
			t.Error(err)
		}
	}
}

// A block that does not compile is found, and told with its place.
func TestWrongBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a fragment", "```go\nlease, err := m.TryLock(ctx)\n```", ""},
		{"its own imports", "```go\nimport \"strings\"\n\nvar x = strings.ToUpper(name)\n```", ""},
		{"a function", "```go\nfunc build(name string) error { return c.Do(ctx, name, nil) }\n```", ""},
		{"a whole file", "```go\npackage main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n```", ""},
		{"two results", "```go\nif err != nil {\n\treturn nil, err\n}\nreturn m.Lock(ctx)\n```", ""},
		{"a comment", "<!-- go:\nvar x int;\nfunc f(int) -->\n\n```go\nf(x)\n```", ""},
		{"a comment further up", "<!-- go: var x int -->\ntext\n```go\n_ = x\n```", "doc.md:4:5: undefined: x"},
		{"another language", "```sh\nwrong\n```\n```\nwrong\n```", ""},
		{"no such method", "text\n\n```go\nlease.Release(ctx)\n```", "doc.md:4:7: lease.Release undefined"},
		{"wrong type", "```go\n\nvar d time.Duration = name\n```", "doc.md:3:23: cannot use name"},
		{"no such variable", "```go\nreturn f(ctx)\n```", "doc.md:2:8: undefined: f"},
		{"one argument too few", "- item\n  ```go\n  c.Do(ctx, name)\n  ```", "doc.md:3:17: not enough arguments"},
		{"syntax", "```go\nif err {\n```", "doc.md:3:"},
		{"bad comment", "<!-- go: vax x -->\n```go\n```", "comment above doc.md:3"},
		{
			"unused in a whole file", "```go\npackage p\n\nimport \"fmt\"\n```",
			"doc.md:4:8: \"fmt\" imported and not used",
		},
		{"a file in pieces", "```go\npackage p\n\nvar x = y\n```\ntext\n```go\nvar y int\n```\n", ""},
		{
			"a file with a wrong piece", "```go\npackage p\n\nvar x = y\n```\ntext\n```go\nvar y z\n```\n",
			"doc.md:8:7: undefined: z",
		},
		{"a file and a fragment", "```go\npackage p\n\nvar x int\n```\n```go\n_ = x\n```\n", "doc.md:7:5: undefined: x"},
		{"the second of two", "```go\n_ = ctx\n```\n\n```go\n_ = x\n```", "doc.md:6:5: undefined: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := join(blocks("doc.md", c.text))
			checker := newChecker(t, all)
			var wrong []string
			for _, b := range all {
				for _, err := range checker.check(b) {
					wrong = append(wrong, err.Error())
				}
			}
			got := strings.Join(wrong, "\n")
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
