package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutant whose text the code has outgrown breaks nothing, and its names must tell one from another.
func TestTexts(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range slices.Concat(classics, others) {
		if names[m.name] {
			t.Errorf("two mutants are named %q", m.name)
		}
		names[m.name] = true
		source, err := os.ReadFile(filepath.Join("..", "..", "..", m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: its text is there %d times in %s, want once", m.name, n, m.file)
		}
	}
}
