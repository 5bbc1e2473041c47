package owner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

const canTellDead = true

const (
	// ticks is USER_HZ, in which /proc counts; it is the same on every Linux.
	ticks = 100

	// startSlack is by how much a process must have begun after the lock was taken. Its start is
	// told by today's wall clock, the lock's by that of then. A step of the clock in between must
	// not make the living dead.
	startSlack = 5 * time.Second
)

// dead reports whether the process that took a lock at since is gone. There is none with its id
// then, or a zombie, or one that began later. In doubt it lives.
//
// Nothing is certain of a process that ends while it is looked at. It lives then, and is dead at
// the next look.
func dead(pid int, since time.Time) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	// The command's name is in parentheses and may contain anything; see proc_pid_stat(5).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return false
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return true
	}
	start, err := strconv.ParseInt(fields[19], 10, 64)
	booted, ok := bootTime()
	if err != nil || !ok {
		return false
	}
	return booted.Add(afterBoot(start)).After(since.Add(startSlack))
}

// afterBoot returns how long after the machine's start a number of ticks is. It overflows after
// centuries, and not after three years as the product with a second does.
func afterBoot(n int64) time.Duration { return time.Duration(n) * (time.Second / ticks) }

// bootTime returns when the machine started, by today's clock.
func bootTime() (time.Time, bool) {
	uptime, err := os.ReadFile("/proc/uptime")
	now := time.Now()
	if err != nil {
		return time.Time{}, false
	}
	first, _, _ := strings.Cut(string(uptime), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}, false
	}
	return now.Add(-time.Duration(seconds * float64(time.Second))), true
}
