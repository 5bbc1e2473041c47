// With runs a command with REDIS_URL set to a Redis that package anyredis found or started, and ends
// as the command ends. The examples run so on any machine:
//
//	go run ./internal/anyredis/with go run ./examples/job
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/holdfast-go/holdfast/internal/anyredis"
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
		return 2, errors.New("name a command to run")
	}
	redis, err := anyredis.Find(context.Background())
	if err != nil {
		return 1, err
	}
	fmt.Println("Redis:", redis.About)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), anyredis.Variable+"="+redis.URL)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	closed := redis.Close()

	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), closed // it has said itself what was wrong
	case err != nil || closed != nil:
		return 1, errors.Join(err, closed)
	}
	return 0, nil
}
