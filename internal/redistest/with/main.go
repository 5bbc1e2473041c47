// With runs a command that wants a Redis, with a private one of its own. REDIS_URL tells the
// command where it is. If HOLDFAST_TEST_REDIS_URL is set, the server there is used instead.
//
//	go run ./internal/redistest/with go run ./examples/nightly
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("usage: with command [argument ...]")
	}
	signal.Ignore(os.Interrupt) // it reaches the command too, which ends, and then we do
	url, stop, err := redistest.Serve()
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "REDIS_URL="+url)
	err = cmd.Run()
	code = 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code, err = max(exit.ExitCode(), 1), nil // it has said itself what was wrong
	case err != nil:
		code = 1
	}
	if e := stop(); e != nil {
		return max(code, 1), errors.Join(err, e)
	}
	return code, err
}
