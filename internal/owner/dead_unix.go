//go:build unix && !linux

package owner

import (
	"errors"
	"syscall"
	"time"
)

const canTellDead = true

// dead reports whether the process that took a lock at since is gone. That another process has its
// id now is not noticed here.
func dead(pid int, _ time.Time) bool {
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
