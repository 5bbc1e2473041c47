package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// A block is one block of Go code in a document.
type block struct {
	file string
	line int    // of its first line
	decl string // what the comment above it declares
	code string
}

// at is the comment that has the compiler name the document's lines.
func (b block) at() string { return fmt.Sprintf("//line %s:%d:1\n", b.file, b.line) }

// join makes one block of each that is a file and the blocks of declarations behind it.
func join(all []block) []block {
	var joined []block
	file := -1 // the file that has begun
	for _, b := range all {
		_, err := withImports(token.NewFileSet(), b.code)
		switch {
		case b.whole():
			file = len(joined)
			joined = append(joined, b)
		case file >= 0 && joined[file].file == b.file && b.decl == "" && err == nil:
			joined[file].code += b.at() + b.code
		default:
			joined = append(joined, b)
		}
	}
	return joined
}

// blocks returns the blocks of a document.
func blocks(file, text string) []block {
	var found []block
	var in *block // the block that has begun
	decl, open := "", false
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		switch {
		case in != nil && bare == "```":
			found, in, decl = append(found, *in), nil, ""
		case in != nil:
			in.code += line + "\n"
		case bare == "```go":
			in = &block{file: file, line: i + 2, decl: decl}
		case open || strings.HasPrefix(bare, "<!-- go:"):
			text, _, closed := strings.Cut(strings.TrimPrefix(bare, "<!-- go:"), "-->")
			decl, open = decl+text+"\n", !closed
		case bare != "":
			decl = ""
		}
	}
	return found
}

// whole reports whether the block is a whole file.
func (b block) whole() bool {
	f, err := parser.ParseFile(token.NewFileSet(), "", b.code, parser.PackageClauseOnly)
	return err == nil && f.Name != nil
}

// parse makes the files of a package of the block: itself, and what it needs.
func (b block) parse(fset *token.FileSet) ([]*ast.File, error) {
	if b.whole() {
		f, err := parser.ParseFile(fset, "", b.at()+b.code, parser.SkipObjectResolution)
		return []*ast.File{f}, err
	}
	above := fmt.Sprintf("//line comment above %s:%d\n", b.file, b.line)
	decl, err := withImports(fset, "\n"+above+b.decl)
	if err != nil {
		return nil, err
	}
	code, err := withImports(fset, "\n"+b.at()+b.code)
	if err != nil { // it is no declarations
		code, err = statements(fset, b.at()+b.code)
	}
	if err != nil {
		return nil, err
	}
	known, err := withImports(fset, undeclared(decl, code))
	return []*ast.File{code, decl, known}, err
}

// statements makes a file with a function of statements, which returns what they return.
func statements(fset *token.FileSet, code string) (*ast.File, error) {
	f, err := withImports(fset, "func _() {\n"+code+"}")
	if err != nil {
		return nil, err
	}
	results := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			results = max(results, len(r.Results))
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	if results == 0 {
		return f, nil
	}
	head := "func _() (" + strings.Repeat("_ any, ", results-1) + "_ error) {\n"
	return withImports(fset, head+code+"panic(0) }")
}

// withImports parses a file without a package clause, and with imports of what it seems to use.
func withImports(fset *token.FileSet, text string) (*ast.File, error) {
	f, err := parser.ParseFile(fset, "", "package doc; "+text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, own := range f.Imports {
		maps.DeleteFunc(used, func(name string, _ bool) bool { return own.Path.Value == `"`+imports[name]+`"` })
	}
	clause := "package doc; "
	for _, name := range slices.Sorted(maps.Keys(used)) {
		clause += fmt.Sprintf("import %q; ", imports[name])
	}
	return parser.ParseFile(fset, "", clause+text, parser.SkipObjectResolution)
}

// undeclared returns declarations of the variables that these files do not declare themselves.
func undeclared(files ...*ast.File) string {
	own := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				own[d.Name.Name] = d.Recv == nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							own[name.Name] = true
						}
					}
				}
			}
		}
	}
	text := ""
	for name, kind := range variables {
		if !own[name] {
			text += fmt.Sprintf("var %s %s\n", name, kind)
		}
	}
	return text
}
