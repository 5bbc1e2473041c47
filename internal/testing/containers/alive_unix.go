//go:build unix

package containers

import "syscall"

// alive reports whether there is a process with this id.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
