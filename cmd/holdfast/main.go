// Holdfast shows locks in Redis at work.
//
//	holdfast demo
package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

func main() {
	ctx, stop := untilSignal(context.Background())
	err := exec(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(exitCode(err, os.Stderr))
}

const usage = `holdfast: locks that live in Redis

usage: holdfast <command> [flags]

  demo    processes that contend for a lock, a crash, a restart (about 20 s)
  help    this text, or with the name of a command what it does

exit codes: 0 done, 1 failed, 2 not understood, 130 stopped by Ctrl-C
`

// A command is what its name on the command line stands for.
type command struct {
	usage string
	run   func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error
}

func find(name string) (command, error) {
	switch name {
	case "demo":
		return command{demoUsage, runDemo}, nil
	case "demo-worker": // the demo starts itself again as this
		return command{workerUsage, runWorker}, nil
	}
	return command{}, usageError(fmt.Sprintf("unknown command %q", name))
}

// exec runs the program with these arguments.
func exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError("no command given")
	}
	name, args := args[0], args[1:]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		return help(args, stdout)
	}
	c, err := find(name)
	if err != nil {
		return err
	}
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		return help([]string{name}, stdout)
	}
	return c.run(ctx, args, stdin, stdout, stderr)
}

func help(args []string, stdout io.Writer) error {
	text := usage
	switch len(args) {
	case 0:
	case 1:
		c, err := find(args[0])
		if err != nil {
			return err
		}
		text = c.usage
	default:
		return usageError("help takes the name of one command")
	}
	_, err := io.WriteString(stdout, text)
	return err
}
