package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/holdfast-go/holdfast"

// root is the directory of the module, from here.
var root = filepath.Join("..", "..", "..")

// A file is one that is no test, whatever system it is for.
type file struct {
	path string
	pkg  string // its directory, from the root
	ast  *ast.File
}

// readCode parses all files that are no tests, of the modules nested here as well.
func readCode(set *token.FileSet) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		files = append(files, file{path, filepath.ToSlash(dir), parsed})
		return err
	})
	return files, err
}

// imports returns the packages of this repository and the modules of others that a file imports. The
// standard library is left out.
func (f file) imports() []string {
	var names []string
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has seen to it
		}
		own, ok := strings.CutPrefix(path, module+"/")
		switch {
		case ok:
			names = append(names, own)
		case path == module:
			names = append(names, ".")
		case strings.Contains(path, "."):
			names = append(names, short(path))
		}
	}
	return names
}

// short is the name of somebody else's module: without its host, its owner, and its version.
func short(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] == "github.com" && len(parts) > 2 {
		return parts[2]
	}
	return parts[1]
}

// in returns the files of the packages below a directory, or of one package.
func in(files []file, r row) []file {
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !r.covers(f.pkg) })
}
