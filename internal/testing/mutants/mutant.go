package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A mutant is one way to break the library.
type mutant struct {
	name, what string
	edits      edits
	tests      tests // that should notice
}

// An edit replaces a text that is in a file once.
type edit struct{ file, old, new string }

type edits []edit

// tests are those of one package that a pattern names.
type tests struct {
	in   string   // the package's directory
	run  string   // the pattern
	args []string // their flags
	rule string   // of chaos, which must be broken; "" if any will do
}

// chaosDir is the package whose runs are judged by the rules that they find broken.
const chaosDir = "internal/testing/chaos"

// chaosRun is a run of 20 s, if args do not say otherwise.
func chaosRun(args ...string) tests {
	args = append([]string{"-duration=20s", "-ttl=100ms"}, args...)
	return tests{in: chaosDir, run: "^TestFaultChaos$", args: args}
}

// breaks tells which rule a run must find broken.
func (t tests) breaks(rule string) tests {
	t.rule = rule
	return t
}

func (m mutant) chaos() bool { return m.tests.in == chaosDir }

// all returns the mutants that tests notice within a minute, and those that take a run of chaos.
func all() (quick, chaos []mutant) {
	return slices.Concat(classics, others, later), chaotic
}

// in makes the edits in the module in dir. It returns how to take them back, also if it fails.
func (e edits) in(dir string) (mend func() error, err error) {
	whole := map[string][]byte{}
	mend = func() error {
		var errs []error
		for path, text := range whole {
			errs = append(errs, os.WriteFile(path, text, 0o600))
		}
		return errors.Join(append(errs, sum(dir))...)
	}
	for _, one := range e {
		path := filepath.Join(dir, one.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return mend, err
		}
		if whole[path] == nil {
			whole[path] = text
		}
		broken, err := one.apply(text)
		if err == nil {
			err = os.WriteFile(path, broken, 0o600)
		}
		if err != nil {
			return mend, err
		}
	}
	return mend, sum(dir)
}

// apply returns what becomes of a file's text.
func (e edit) apply(text []byte) ([]byte, error) {
	if n := bytes.Count(text, []byte(e.old)); n != 1 {
		return nil, fmt.Errorf("%q is %d times in %s: has the code changed?", e.old, n, e.file)
	}
	return bytes.Replace(text, []byte(e.old), []byte(e.new), 1), nil
}
