//go:build unix

package child_test

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestKill(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	if _, err := cmd.StdinPipe(); err != nil { // so that it runs until it is killed
		t.Fatal(err)
	}
	p, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	// A Ctrl-C goes to the process group of the terminal, which is not the child's.
	group, err := syscall.Getpgid(p.PID())
	if err != nil || group != p.PID() {
		t.Errorf("process group %d (%v), want the child's own, %d", group, err, p.PID())
	}
	for range 2 { // the second one finds it gone
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Done():
		default:
			t.Error("Kill returned before the child was gone")
		}
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("Wait: %v, want killed", err)
	}
}

func TestEndsByItself(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	p, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "hello"); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	if err := p.Wait(); err != nil || out.String() != "hello" {
		t.Errorf("Wait: %v, output %q, want nil and hello", err, out.String())
	}
}

func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	if p, err := child.Start(exec.Command("/nonexistent/program")); err == nil || p != nil {
		t.Errorf("got %v, %v, want an error", p, err)
	}
}

func TestStartWithin(t *testing.T) {
	t.Parallel()
	left := make(chan error, 1)
	p, err := child.StartWithin(func(live func() error) error {
		err := live()
		left <- err
		return err
	}, exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Wait(), <-left); err != nil {
		t.Errorf("a child that did well: %v", err)
	}
	refused := errors.New("no such place")
	p, err = child.StartWithin(func(func() error) error { return refused }, exec.Command("true"))
	if err != refused || p != nil {
		t.Errorf("got %v, %v, want %v", p, err, refused)
	}
}
