package house

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"testing"
)

// unspoken are words that a package does not have, in its identifiers and in its comments. What but
// matches does not count.
var unspoken = []struct{ pkg, word, but string }{
	{"lock", `(?i)pool`, `redis\.Pool|pool (:=|\*)|PoolDialer\(pool\)`}, // which New gets
	{"internal/engine", `(?i)pool`, ``},
	{"renewal", `(?i)redis|redigo`, ``},
	{"signal", `(?i)redis|redigo`, ``},
	{"signal", `(?i)lock`, `\.(Un|R|RUn)?[lL]ock\(|Locked\b|(?i:block)|nothing of locks`},
}

// TestWords looks for words in the files of a package that are no tests. Strings do not count.
func TestWords(t *testing.T) {
	t.Parallel()
	files, err := readCode(token.NewFileSet())
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range unspoken {
		word, but := regexp.MustCompile(rule.word), regexp.MustCompile(rule.but)
		of := in(files, row{name: rule.pkg})
		if len(of) == 0 {
			t.Errorf("there is no package %s", rule.pkg)
		}
		for _, f := range of {
			text, err := withoutStrings(f.path)
			if err != nil {
				t.Error(err)
			}
			if rule.but != "" {
				text = blank(text, but.FindAllIndex(text, -1))
			}
			for _, at := range word.FindAllIndex(text, -1) {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q", f.path, line, text[at[0]:at[1]])
			}
		}
	}
}

// withoutStrings returns a file's text with blanks for its strings.
func withoutStrings(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	f := set.AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, 0)
	var found [][]int
	for {
		pos, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return blank(text, found), nil
		case token.STRING:
			at := f.Offset(pos)
			found = append(found, []int{at, at + len(literal)})
		}
	}
}

// blank returns the text with blanks at these places. Lines stay lines.
func blank(text []byte, places [][]int) []byte {
	text = append([]byte(nil), text...)
	for _, at := range places {
		for i := at[0]; i < at[1]; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	return text
}
