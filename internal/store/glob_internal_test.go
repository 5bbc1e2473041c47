package store

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// redisMatch is Redis's way to match, as stringmatchlen in its util.c does it.
func redisMatch(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '*':
		return redisMatch(pattern[1:], text) || text != "" && redisMatch(pattern, text[1:])
	case '?':
		return text != "" && redisMatch(pattern[1:], text[1:])
	case '[':
		if text == "" {
			return false
		}
		match, rest := redisClass(pattern[1:], text[0])
		return match && redisMatch(rest, text[1:])
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	return text != "" && pattern[0] == text[0] && redisMatch(pattern[1:], text[1:])
}

// redisClass matches one byte with what follows a bracket, and returns what follows the class.
func redisClass(pattern string, c byte) (match bool, rest string) {
	pattern, not := strings.CutPrefix(pattern, "^")
	for pattern != "" && pattern[0] != ']' {
		switch {
		case pattern[0] == '\\' && len(pattern) > 1:
			match = match || pattern[1] == c
			pattern = pattern[2:]
		case len(pattern) > 2 && pattern[1] == '-':
			low, high := min(pattern[0], pattern[2]), max(pattern[0], pattern[2])
			match = match || low <= c && c <= high
			pattern = pattern[3:]
		default:
			match = match || pattern[0] == c
			pattern = pattern[1:]
		}
	}
	if pattern != "" {
		pattern = pattern[1:]
	}
	return match != not, pattern
}

// Redis matches as redisMatch does.
func TestRedisMatch(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	texts := []string{
		"a", "b", "ab", "a*", "*", "?", "[", "]", "[a]", `\`, `\a`, `\*`, "^", "^a", "-", "a-b", "abc", `a\`,
	}
	for _, text := range texts {
		s.Do(t, "SET", text, "x")
	}
	conn := s.Dial(t)
	const atoms = `ab*?[]\^-`
	for n := range len(atoms) * len(atoms) * len(atoms) * len(atoms) {
		pattern := ""
		for rest := n; rest > 0; rest /= len(atoms) {
			pattern += atoms[rest%len(atoms):][:1]
		}
		keys, err := conn.Do("KEYS", pattern)
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]bool)
		for _, key := range keys.([]any) {
			found[string(key.([]byte))] = true
		}
		for _, text := range texts {
			if got := redisMatch(pattern, text); got != found[text] {
				t.Errorf("%q matches %q: %v, Redis says %v", pattern, text, got, found[text])
			}
		}
	}
}
