package house

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExportedNames keeps package lock small enough to be read at once: types, their fields and methods, functions,
// constants and variables.
func TestExportedNames(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	var files []*ast.File
	paths, err := filepath.Glob(filepath.Join(root, "lock", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	lock, err := doc.NewFromFiles(set, files, module+"/lock")
	if err != nil {
		t.Fatal(err)
	}
	if n := names(lock); n < 100 || n > 150 {
		t.Errorf("lock exports %d names; 100 to 150 are wanted", n)
	}
}

// names counts what a package exports.
func names(p *doc.Package) int {
	values := func(all []*doc.Value) (n int) {
		for _, v := range all {
			n += len(v.Names)
		}
		return n
	}
	n := len(p.Funcs) + values(p.Consts) + values(p.Vars)
	for _, t := range p.Types {
		n += 1 + len(t.Funcs) + len(t.Methods) + values(t.Consts) + values(t.Vars)
		ast.Inspect(t.Decl, func(node ast.Node) bool {
			if s, ok := node.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						if name.IsExported() {
							n++
						}
					}
				}
			}
			return true
		})
	}
	return n
}

// TestMakeHelp keeps make help to a screen: what more can be done is a flag of a target.
func TestMakeHelp(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^[a-z-]+:.*## `).FindAll(text, -1)); n < 10 || n > 15 {
		t.Errorf("make help shows %d targets; 10 to 15 are wanted", n)
	}
}
