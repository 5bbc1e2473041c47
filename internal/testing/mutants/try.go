package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// limit is how long the tests may take to notice, once they are compiled.
const limit = time.Minute

// try breaks the copy in dir, runs the tests, and mends it.
func (m mutant) try(dir string) (verdict, error) {
	path := filepath.Join(dir, m.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return verdict{}, err
	}
	if n := bytes.Count(whole, []byte(m.old)); n != 1 {
		return verdict{}, fmt.Errorf("%q is %d times in %s: has the code changed?", m.old, n, m.file)
	}
	broken := bytes.Replace(whole, []byte(m.old), []byte(m.new), 1)
	if err := errors.Join(os.WriteFile(path, broken, 0o600), sum(dir)); err != nil {
		return verdict{}, err
	}
	v, err := m.test(dir)
	return v, errors.Join(err, os.WriteFile(path, whole, 0o600), sum(dir))
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// test compiles the tests and runs them where their package is, as go test does.
func (m mutant) test(dir string) (verdict, error) {
	binary := filepath.Join(dir, "mutant.test")
	compile := exec.Command("go", "test", "-vet=off", "-c", "-o", binary, "./"+m.in)
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("%w\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	args := []string{"-test.failfast", "-test.timeout=" + limit.String(), "-test.run=" + m.run}
	cmd := exec.CommandContext(ctx, binary, append(args, m.args...)...)
	cmd.Dir, cmd.WaitDelay = filepath.Join(dir, m.in), time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	v := verdict{took: time.Since(began)}
	var exit *exec.ExitError
	name := failed.FindSubmatch(out)
	switch {
	case err == nil && !bytes.Contains(out, []byte("no tests to run")):
		return v, nil
	case errors.As(err, &exit) && name != nil:
		v.by = string(name[1])
	case errors.As(err, &exit) && bytes.Contains(out, []byte("test timed out")):
		v.by = m.run + " (hangs)"
	default:
		return v, fmt.Errorf("the tests %q of %s: %w\n%s", m.run, m.in, err, out)
	}
	if m.args != nil {
		v.by += " " + strings.Join(m.args, " ")
	}
	return v, nil
}

// sum brings the list of the scripts' sums up to date, so that it is not what notices.
func sum(dir string) error {
	cmd := exec.Command("sh", "-c", "sha1sum *.lua >SHA1SUMS")
	cmd.Dir = filepath.Join(dir, "internal", "scripts")
	return cmd.Run()
}

// inCopy runs do with a copy of the module, without what git keeps.
func inCopy(do func(dir string)) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(".", dir); err != nil {
		return err
	}
	do(dir)
	return nil
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), data, info.Mode().Perm()|0o600)
	})
}
