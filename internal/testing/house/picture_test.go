package house

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A row is one line of the picture.
type row struct {
	name    string
	imports []string
}

func (r row) String() string {
	return strings.TrimSpace(fmt.Sprintf("%-21s -> %s", r.name, strings.Join(r.imports, " ")))
}

// covers reports whether the row is that of a package.
func (r row) covers(pkg string) bool {
	tree, ok := strings.CutSuffix(r.name, "/...")
	return pkg == r.name || ok && (pkg == tree || strings.HasPrefix(pkg, tree+"/"))
}

// A picture is what CONTRIBUTING.md shows, from the top down.
type picture []row

// rowOf returns the index of a package's row, -1 if it has none.
func (p picture) rowOf(pkg string) int {
	return slices.IndexFunc(p, func(r row) bool { return r.covers(pkg) })
}

// readPicture finds the block of code that stands behind the heading.
func readPicture() (picture, error) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(text), "\n## The house\n")
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, ok := strings.Cut(block, "\n```\n")
	if !ok {
		return nil, fmt.Errorf("CONTRIBUTING.md has no block of code under the heading The house")
	}
	var p picture
	for line := range strings.Lines(block) {
		if strings.HasPrefix(line, "-- ") { // the name of a layer
			continue
		}
		from, to, _ := strings.Cut(line, "->")
		p = append(p, row{strings.TrimSpace(from), strings.Fields(to)})
	}
	return p, nil
}
