package redistest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// setnsCall is the number of the system call setns, which package syscall does not have everywhere.
var setnsCall = map[string]uintptr{"amd64": 308, "arm64": 268}

// namespace is a network namespace, held by an open file: nothing of it is left when that is closed and
// no process and no socket is in it.
type namespace struct{ file *os.File }

// newThreads makes a namespace.
func newThreads() (threads, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("it needs root")
	}
	if setnsCall[runtime.GOARCH] == 0 {
		return nil, fmt.Errorf("not known how on %s", runtime.GOARCH)
	}
	var made namespace
	err := onThread(func() (err error) {
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		made.file, err = os.Open(threadNetwork)
		return err
	})
	return made, err
}

// threadNetwork is the network namespace of the thread that opens it.
const threadNetwork = "/proc/thread-self/ns/net"

// run implements threads.
func (n namespace) run(f func() error) error {
	return onThread(func() error {
		if err := setns(n.file); err != nil {
			return err
		}
		return f()
	})
}

func (n namespace) close() error { return n.file.Close() }

// onThread runs f, which may change the namespace of its thread. If the thread cannot be brought back it
// ends with the goroutine.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() { // ends with f; the caller waits for it
		runtime.LockOSThread()
		home, err := os.Open(threadNetwork)
		if err != nil {
			done <- err
			return
		}
		defer home.Close()
		err = f()
		if setns(home) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

func setns(file *os.File) error {
	_, _, errno := syscall.RawSyscall(setnsCall[runtime.GOARCH], file.Fd(), syscall.CLONE_NEWNET, 0)
	if errno != 0 {
		return fmt.Errorf("setns: %w", errno)
	}
	return nil
}
