//go:build unix

package lock_test

import (
	"os"
	"syscall"
	"testing"
)

// faultStrikes are the signals that put a process out of action.
var faultStrikes = []os.Signal{syscall.SIGKILL, syscall.SIGSTOP}

// stop freezes the process, and returns when it is frozen: that can take a busy machine a while.
func (p *faultProcess) stop(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process does not stop: %v, %v", status, err)
	}
}

// resume lets a frozen process go on.
func (p *faultProcess) resume(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
}

func (p *faultProcess) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
