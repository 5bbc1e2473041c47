//go:build unix

package peer

import (
	"os"
	"syscall"
	"testing"
)

// Strikes are the signals that put a process out of action.
var Strikes = []os.Signal{syscall.SIGKILL, syscall.SIGSTOP}

// Stop freezes the process, and returns when it is frozen: that can take a busy machine a while.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process does not stop: %v, %v", status, err)
	}
}

// Resume lets a frozen process go on.
func (p *Process) Resume(t testing.TB) {
	t.Helper()
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
