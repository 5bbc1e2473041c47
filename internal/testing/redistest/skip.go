package redistest

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Skip leaves a test out and says why, in the form that `make test` collects. Tests that cannot run
// here are never left out in silence.
func Skip(t testing.TB, reason string) {
	t.Helper()
	t.Skipf("SKIP %s: %s", t.Name(), reason)
}

// Python finds an interpreter that can import redis and redis_lock (python-redis-lock 4), and
// returns it with the environment to run it in: HOLDFAST_TEST_PYTHON, python3, /usr/bin/python3,
// in this order. PYTHONPATH may name where redis_lock is. Without one the test is skipped.
func Python(t testing.TB) (interpreter string, env []string) {
	t.Helper()
	if path := pythonWith("redis, redis_lock"); path != "" {
		return path, os.Environ()
	}
	Skip(t, "no Python with redis and redis_lock: pip install 'python-redis-lock>=4' redis, "+
		"or set HOLDFAST_TEST_PYTHON or PYTHONPATH")
	return "", nil
}

// RedisPy is Python for tests that need redis (redis-py) alone.
func RedisPy(t testing.TB) (interpreter string, env []string) {
	t.Helper()
	if path := pythonWith("redis"); path != "" {
		return path, os.Environ()
	}
	Skip(t, "no Python with redis: apt-get install python3-redis, or pip install redis, "+
		"or set HOLDFAST_TEST_PYTHON or PYTHONPATH")
	return "", nil
}

// pythonWith returns an interpreter that can import the modules, "" if there is none.
func pythonWith(modules string) string {
	candidates := []string{os.Getenv("HOLDFAST_TEST_PYTHON"), "python3", "/usr/bin/python3"}
	for _, python := range slices.DeleteFunc(candidates, func(s string) bool { return s == "" }) {
		path, err := exec.LookPath(python)
		if err == nil && exec.Command(path, "-c", "import "+modules).Run() == nil {
			return path
		}
	}
	return ""
}
