package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLayers checks that the files of a package form layers, and that no package is too large: what a package of
// the library that users run has in one file never needs, in a loop, what stands above it.
func TestLayers(t *testing.T) {
	t.Parallel()
	all, exports, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		t.Run(strings.TrimPrefix(p.ImportPath, module+"/"), func(t *testing.T) {
			t.Parallel()
			if n, err := p.lines(); n > mostLines || err != nil {
				t.Errorf("%d lines, %v; at most %d are wanted: a package that large does more than one thing", n, err, mostLines)
			}
			if strings.Contains(p.ImportPath, "/internal/testing/") {
				return
			}
			arrows, err := p.arrows(exports)
			if err != nil {
				t.Fatal(err)
			}
			for _, loop := range arrows.loops() {
				t.Errorf("two files need each other, straight or by way of others: %s", loop)
			}
		})
	}
}

// mostLines is how large a package may be, without its tests.
const mostLines = 3000

// A listed package is what go list tells of one.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// list returns the packages of the module, and where the compiled form of each package that they import is.
func list() (ours []listed, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	exports = make(map[string]string)
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return ours, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/") && len(p.GoFiles) > 0 {
			ours = append(ours, p)
		}
	}
}

func (p listed) lines() (n int, err error) {
	for _, f := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			return 0, err
		}
		n += strings.Count(string(text), "\n")
	}
	return n, nil
}

// arrows say for each file of a package which others it needs.
type arrows map[string]map[string]bool

// arrows finds out where each name that a file uses is defined.
func (p listed) arrows(exports map[string]string) (arrows, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checked, err := conf.Check(p.ImportPath, set, files, info)
	if err != nil {
		return nil, err
	}
	a := make(arrows)
	for use, of := range info.Uses {
		if of.Pkg() != checked {
			continue
		}
		from, to := filepath.Base(set.Position(use.Pos()).Filename), filepath.Base(set.Position(of.Pos()).Filename)
		if a[from] == nil {
			a[from] = make(map[string]bool)
		}
		a[from][to] = a[from][to] || from != to
	}
	return a, nil
}

// loops returns the arrows from whose end their beginning can be reached.
func (a arrows) loops() (loops []string) {
	for from, needs := range a {
		for to, other := range needs {
			if other && a.reaches(to, from, make(map[string]bool)) {
				loops = append(loops, from+" -> "+to)
			}
		}
	}
	slices.Sort(loops)
	return loops
}

func (a arrows) reaches(from, to string, seen map[string]bool) bool {
	seen[from] = true
	for next, other := range a[from] {
		if other && (next == to || !seen[next] && a.reaches(next, to, seen)) {
			return true
		}
	}
	return false
}
