package store

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/parrot"
)

// FuzzPattern checks that a pattern of ours matches what the comment of Locks says, and that a
// prefix stands for itself, by what Redis does with the patterns that are made of them.
func FuzzPattern(f *testing.F) {
	for _, name := range parrot.Names {
		f.Add("", name, name)
		f.Add(name, "*", name)
		f.Add("a*", name+"*", name+"x")
		f.Add("[ab]", "?"+name, "x"+name)
	}
	f.Add("a?", "*", "ab")
	f.Add("a*", "a?", "a*b")
	f.Add("[^b]", "[^b]", "a")
	f.Fuzz(func(t *testing.T, prefix, pattern, name string) {
		if strings.Count(pattern, "*") > 6 {
			return // the simple matchers would take for ever
		}
		k := fuzzSpace(prefix)
		glob, key := k.Locks(pattern).pattern, k.LockKey(name)
		want := pattern == "" || fuzzMatch(pattern, name)
		if got := redisMatch(glob, key); got != want {
			t.Errorf("prefix %q, pattern %q, glob %q: matches %q: %v, want %v", prefix, pattern, glob, key, got, want)
		}
		if !redisMatch(escapeGlob(name), name) {
			t.Errorf("%q does not match itself", name)
		}
		if redisMatch(escapeGlob(prefix), name) != (prefix == name) {
			t.Errorf("%q escaped matches %q", prefix, name)
		}
	})
}

// fuzzMatch is what a pattern of ours means: * is any bytes, ? is one, all else is itself.
func fuzzMatch(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return fuzzMatch(pattern[1:], text) || text != "" && fuzzMatch(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && fuzzMatch(pattern[1:], text[1:])
}
