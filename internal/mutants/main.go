// Command mutants breaks the library on purpose, one way after another, each in a copy of its own, and
// runs the tests that should notice. A test suite that lets such a mutant live proves nothing. It prints
// a table for docs/reliability.md and exits with 1 if a mutant lives.
//
//	go run ./internal/mutants [name ...]
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
	"slices"
	"strings"
	"time"
)

// limit is how long the tests may take to notice.
const limit = time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name }) {
			return fmt.Errorf("there is no mutant %q", name)
		}
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(".", dir); err != nil {
		return err
	}
	fmt.Println("| mutant | what it does | caught by | after |\n| --- | --- | --- | --- |")
	var alive []string
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		by, took, err := m.try(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if by == "" {
			by = "**nothing**"
			alive = append(alive, m.name)
		}
		fmt.Printf("| %s | %s | %s | %.0f s |\n", m.name, m.what, by, took.Seconds())
	}
	if len(alive) > 0 {
		return fmt.Errorf("alive: %s", strings.Join(alive, ", "))
	}
	return nil
}

// try breaks the copy in dir, runs the tests, and mends it. It returns which test failed first, "" if
// none did in time.
func (m mutant) try(dir string) (by string, took time.Duration, err error) {
	path := filepath.Join(dir, m.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return "", 0, err
	}
	if n := bytes.Count(whole, []byte(m.old)); n != 1 {
		return "", 0, fmt.Errorf("%q is %d times in %s: has the code changed?", m.old, n, m.file)
	}
	broken := bytes.Replace(whole, []byte(m.old), []byte(m.new), 1)
	if err := errors.Join(os.WriteFile(path, broken, 0o600), sum(dir)); err != nil {
		return "", 0, err
	}
	began := time.Now()
	by, err = m.test(dir)
	took = time.Since(began)
	return by, took, errors.Join(err, os.WriteFile(path, whole, 0o600), sum(dir))
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

func (m mutant) test(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout=50s", "-run", m.run}, m.packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && !bytes.Contains(out, []byte("no tests to run")):
		return "", nil
	case !errors.As(err, &exit) || bytes.Contains(out, []byte("build failed")):
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	if name := failed.FindSubmatch(out); name != nil {
		return string(name[1]), nil
	}
	if bytes.Contains(out, []byte("test timed out")) {
		return m.run + " (hangs)", nil
	}
	return "", fmt.Errorf("go %s failed without a test:\n%s", strings.Join(args, " "), out)
}

// sum brings the list of the scripts' sums up to date, so that it is not what notices.
func sum(dir string) error {
	cmd := exec.Command("sh", "-c", "sha1sum *.lua >SHA1SUMS")
	cmd.Dir = filepath.Join(dir, "internal", "scripts")
	return cmd.Run()
}

// copyTree copies the module, without what git keeps.
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
