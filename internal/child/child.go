// Package child runs processes that do not outlive this one, and that a Ctrl-C on the terminal does
// not reach. Their parent ends them, in its own order.
//
// On Linux a child dies with its parent however that ends. Elsewhere a child should end when its
// stdin does.
package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// A Process is a started child. Its methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and was waited for
	err  error         // how it ended: set before done is closed
}

// Start starts a command, which must be used for nothing else then. Whoever calls Start must see to
// it that the child ends: see [Process.Kill].
func Start(cmd *exec.Cmd) (*Process, error) { return StartWithin(nil, cmd) }

// StartWithin is [Start] inside a call of within. That can prepare the thread on which it calls
// live, and returns what live returns, or why it did not call it. Nil calls it at once.
func StartWithin(within func(live func() error) error, cmd *exec.Cmd) (*Process, error) {
	if within == nil {
		within = func(live func() error) error { return live() }
	}
	cmd.SysProcAttr = attributes()
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	// Owned by p. It ends with the child, and closes done then.
	go p.run(within, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the command and waits for its end. It keeps its thread for all that time: Linux sends
// the child's death signal when the *thread* that started it ends, not the process.
func (p *Process) run(within func(live func() error) error, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := within(func() error {
		err := p.cmd.Start()
		if err == nil {
			started <- nil
			p.err = p.cmd.Wait()
		}
		return err
	})
	if err != nil {
		started <- err // it did not start
	}
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until the child has ended, and returns an error if it failed. See [exec.Cmd.Wait].
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill ends the child with SIGKILL and returns when it is gone. That it had ended before is no
// error.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if err == nil {
		<-p.done
	}
	return err
}
