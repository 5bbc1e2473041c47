package child

import "syscall"

// attributes put the child into a process group of its own, and let it die with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
