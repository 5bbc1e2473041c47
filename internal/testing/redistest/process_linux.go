package redistest

import "syscall"

// dieWithUs makes the kernel kill a child when this process ends, however it ends: the panic of
// `go test -timeout`, for one, runs no clean-up.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
