package redistest

import (
	"os/exec"
	"testing"
)

// StartProgram is [Start] with a server program of the caller's choice: of another version, say.
func StartProgram(t testing.TB, program string, conf ...string) *Server {
	t.Helper()
	bin, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return started(t, func() (*Server, error) { return newProcess(bin, "unix", conf) })
}
