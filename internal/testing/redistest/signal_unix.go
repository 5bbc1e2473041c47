//go:build unix

package redistest

import (
	"errors"
	"syscall"
)

func (p process) Pause() error  { return p.signal(syscall.SIGSTOP) }
func (p process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p process) signal(sig syscall.Signal) error {
	pid := p.Pid()
	if pid == 0 {
		return errors.New("the server is not running")
	}
	return syscall.Kill(pid, sig)
}
