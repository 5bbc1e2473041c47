//go:build unix && !linux

package child

import "syscall"

// attributes put the child into a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
