package peer

import (
	_ "embed" // for the programs
	"os/exec"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

var (
	//go:embed interop.py
	interop string
	//go:embed redispy.py
	redisPy string
	//go:embed wirepeer.py
	wirePeer string
)

// Python runs python-redis-lock, the real one. It skips the test where that cannot be imported.
func Python(t testing.TB, s *redistest.Server) *Process {
	t.Helper()
	python, env := redistest.Python(t)
	return met(t, script(t, python, env, interop, s))
}

// Wire runs a program that speaks the wire of python-redis-lock through redis-py.
func Wire(t testing.TB, s *redistest.Server) *Process {
	t.Helper()
	python, env := redistest.RedisPy(t)
	return met(t, script(t, python, env, wirePeer, s))
}

// RedisPy runs the Lock of redis-py. It skips the test where that cannot be imported.
func RedisPy(t testing.TB, s *redistest.Server) *Process {
	t.Helper()
	python, env := redistest.RedisPy(t)
	return script(t, python, env, redisPy, s)
}

// script runs a program in Python, which is given the server's URL.
func script(t testing.TB, python string, env []string, text string, s *redistest.Server) *Process {
	t.Helper()
	cmd := exec.Command(python, "-c", text, s.URL())
	cmd.Env = env
	return run(t, cmd)
}

// met returns the process when it has started, and knows the server.
func met(t testing.TB, p *Process) *Process {
	t.Helper()
	p.Tell(t, "owner nothing")
	p.Says(t, "owner None")
	return p
}
