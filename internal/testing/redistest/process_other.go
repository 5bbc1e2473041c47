//go:build !linux

package redistest

import "syscall"

// dieWithUs does nothing: only Linux ends a child together with its parent.
func dieWithUs() *syscall.SysProcAttr { return nil }
