package chaos

import (
	"syscall"
	"time"
	"unsafe"
)

// monotonic reads the clock that all processes of a machine share, and that nobody sets.
func monotonic() (since time.Duration, ok bool) {
	const clockMonotonic = 1
	var t syscall.Timespec
	_, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano()), err == 0
}

// strike sends a process the signal of that name.
func strike(pid int, name string) error {
	return syscall.Kill(pid, map[string]syscall.Signal{
		"KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}[name])
}
