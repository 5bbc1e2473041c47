package house

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestHouse compares the packages and their arrows with the picture in CONTRIBUTING.md.
func TestHouse(t *testing.T) {
	t.Parallel()
	p, err := readPicture()
	if err != nil {
		t.Fatal(err)
	}
	files, err := readCode(token.NewFileSet())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the picture is true", func(t *testing.T) {
		for _, r := range p.missing(files) {
			t.Errorf("a package has no line in CONTRIBUTING.md: %v", r)
		}
		for _, r := range p {
			if code := (row{r.name, imports(in(files, r), r)}); !slices.Equal(r.imports, code.imports) {
				t.Errorf("in CONTRIBUTING.md: %v\nin the code:        %v", r, code)
			}
		}
	})
	t.Run("arrows point down", func(t *testing.T) {
		for i, r := range p {
			for _, to := range r.imports {
				switch line := p.rowOf(to); {
				case line < 0:
					t.Errorf("%s -> %s, which has no line", r.name, to)
				case line <= i:
					t.Errorf("%s -> %s, which is not further down", r.name, to)
				}
			}
		}
	})
	t.Run("users run nothing of internal/testing", func(t *testing.T) {
		for _, f := range files {
			ours := strings.HasPrefix(f.pkg, "internal/testing/") || f.pkg == "bench"
			for _, to := range f.imports() {
				if !ours && strings.HasPrefix(to, "internal/testing/") {
					t.Errorf("%s imports %s", f.path, to)
				}
			}
		}
	})
}

// missing returns the rows of packages that the picture does not show. One that is documentation alone
// needs none.
func (p picture) missing(files []file) []row {
	var rows picture
	for _, f := range files {
		r := row{name: f.pkg}
		r.imports = imports(in(files, r), r)
		if p.rowOf(f.pkg) < 0 && rows.rowOf(f.pkg) < 0 && (f.pkg != "." || len(r.imports) > 0) {
			rows = append(rows, r)
		}
	}
	return rows
}

// imports returns what files import, sorted, without what their own row covers.
func imports(files []file, own row) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.imports()...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), own.covers)
}
