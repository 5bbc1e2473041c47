//go:build unix

package redistest

import (
	"errors"
	"syscall"
)

func (p *process) pause() error  { return p.signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(sig syscall.Signal) error {
	if p.exited() {
		return errors.New("the server is not running")
	}
	return p.cmd.Process.Signal(sig)
}

// alive reports whether there is a process with this id.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
