package redistest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestPython(t *testing.T) {
	t.Parallel()
	python, env := redistest.Python(t)
	cmd := exec.CommandContext(t.Context(), python, "-c", "import redis_lock; redis_lock.Lock")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", python, err, out)
	}
}

func TestPythonThatIsNamed(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_TEST_PYTHON", fake)
	if python, _ := redistest.Python(t); python != fake {
		t.Errorf("took %s, want the one that was named", python)
	}
}
