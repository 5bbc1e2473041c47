package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// limit is how long the tests may take to notice, once they are compiled; chaosLimit is that of chaos.
const limit, chaosLimit = time.Minute, 5 * time.Minute

// try breaks the copy in dir, runs the tests, and mends it.
func (m mutant) try(dir string) (verdict, error) {
	var v verdict
	mend, err := m.edits.in(dir)
	if err == nil {
		v, err = m.test(dir)
	}
	return v, errors.Join(err, mend())
}

// test compiles the tests and runs them where their package is, as go test does.
func (m mutant) test(dir string) (verdict, error) {
	binary := filepath.Join(dir, "mutant.test")
	compile := exec.Command("go", "test", "-vet=off", "-c", "-o", binary, "./"+m.tests.in)
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("%w\n%s", err, out)
	}
	b := built{binary, filepath.Join(dir, m.tests.in), limit}
	if m.chaos() {
		b.limit = chaosLimit
		return m.tests.chaos(b)
	}
	return m.tests.quick(b)
}

// built is a test binary, the directory where it runs, and for how long.
type built struct {
	binary, dir string
	limit       time.Duration
}

// run runs some tests. The error is that of [exec.Cmd.Wait].
func (b built) run(pattern string, args ...string) (out []byte, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.limit+10*time.Second)
	defer cancel()
	args = append([]string{"-test.failfast", "-test.timeout=" + b.limit.String(), "-test.run=" + pattern}, args...)
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Dir, cmd.WaitDelay = b.dir, time.Second
	began := time.Now()
	out, err = cmd.CombinedOutput()
	return out, time.Since(began), err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// quick is the verdict of plain tests: the first that fails has noticed.
func (t tests) quick(b built) (verdict, error) {
	out, took, err := b.run(t.run, t.args...)
	v := verdict{took: took}
	var exit *exec.ExitError
	name := failed.FindSubmatch(out)
	switch {
	case err == nil && !bytes.Contains(out, []byte("no tests to run")):
		return v, nil
	case errors.As(err, &exit) && name != nil:
		v.by = string(name[1])
	case errors.As(err, &exit) && bytes.Contains(out, []byte("test timed out")):
		v.by = t.run + " (hangs)"
	default:
		return v, fmt.Errorf("the tests %q of %s: %w\n%s", t.run, t.in, err, out)
	}
	if t.args != nil {
		v.by += " " + strings.Join(t.args, " ")
	}
	return v, nil
}

var broken = regexp.MustCompile(`_test\.go:\d+: ([a-z]+): `)

// chaos is the verdict of a run of chaos: the rules that it finds broken have noticed. The history that
// it keeps must break them again, and what is not linear must have a picture.
func (t tests) chaos(b built) (verdict, error) {
	kept, err := os.MkdirTemp("", "mutants-kept")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(kept)
	out, took, err := b.run(t.run, slices.Concat(t.args, []string{"-out=" + kept})...)
	if err == nil {
		return verdict{took: took}, nil
	}
	var rules []string
	for _, match := range broken.FindAllSubmatch(out, -1) {
		rules = append(rules, string(match[1]))
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	if len(rules) == 0 || t.rule != "" && !slices.Contains(rules, t.rule) {
		return verdict{took: took}, fmt.Errorf("broken are %q, want %q: %w\n%s", rules, t.rule, err, out)
	}
	v := verdict{by: strings.Join(rules, ", "), took: took}
	return v, replay(b, kept, slices.Contains(rules, "linear"))
}

// replay checks the history in a directory again, which must fail, and looks at its picture.
func replay(b built, kept string, picture bool) error {
	history, err := filepath.Glob(filepath.Join(kept, "*.json"))
	if err != nil || len(history) != 1 {
		return fmt.Errorf("kept %q, %w; want one history", history, err)
	}
	out, _, err := b.run("^TestReplay$", "-replay="+history[0])
	if name := failed.FindSubmatch(out); err == nil || name == nil {
		return fmt.Errorf("the history that was kept shows nothing: %w\n%s", err, out)
	}
	if !picture {
		return nil
	}
	html, err := os.ReadFile(strings.TrimSuffix(history[0], ".json") + ".html")
	if err == nil && !bytes.Contains(html, []byte(", token ")) {
		err = errors.New("it shows no leases")
	}
	if err != nil {
		return fmt.Errorf("the picture of the history: %w", err)
	}
	return nil
}
