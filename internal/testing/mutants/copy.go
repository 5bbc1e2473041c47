package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

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
