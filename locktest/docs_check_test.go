package locktest_test

import (
	"os"
	"strings"
	"testing"
)

// The code on the page about testing is what docs_test.go runs.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("docs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(page), "```") {
		if block, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			blocks = append(blocks, block)
		}
	}
	got := strings.Replace(strings.Join(blocks, "\n"), "package imports_test", "package locktest_test", 1)
	if got != string(code) {
		t.Error("the blocks of docs/testing.md are not docs_test.go: change both")
	}
}
