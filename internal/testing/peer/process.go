package peer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
)

// A Process is another process that uses locks.
type Process struct {
	cmd   *exec.Cmd
	in    io.Writer
	lines chan string   // what it says
	done  chan struct{} // closed when it has ended
}

// run starts a process, which ends with the test.
func run(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd, in, make(chan string, 1000), make(chan struct{})}
	go func() { // ends with the process
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(p.Kill)
	return p
}

// Tell gives the process a line to obey.
func (p *Process) Tell(t testing.TB, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// Says waits until the process says something that begins with this word, and returns what follows.
func (p *Process) Says(t testing.TB, word string) string {
	t.Helper()
	line := locks.Await(t, "the process says "+word, p.lines)
	rest, ok := strings.CutPrefix(line, word)
	if !ok {
		t.Fatalf("the process says %q, want %s", line, word)
	}
	return strings.TrimSpace(rest)
}

// Signal sends the process a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the process as SIGKILL does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}
