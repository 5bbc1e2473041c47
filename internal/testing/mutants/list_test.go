package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A mutant whose text the code has outgrown breaks nothing, and its names must tell one from another.
func TestTexts(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	quick, chaos := all()
	for _, m := range slices.Concat(quick, chaos) {
		if names[m.name] {
			t.Errorf("two mutants are named %q", m.name)
		}
		names[m.name] = true
		texts := map[string][]byte{}
		for _, e := range m.edits {
			text, ok := texts[e.file]
			var err error
			if !ok {
				text, err = os.ReadFile(filepath.Join("..", "..", "..", e.file))
			}
			if err == nil {
				texts[e.file], err = e.apply(text)
			}
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}
