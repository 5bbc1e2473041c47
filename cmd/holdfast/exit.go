package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// A usageError says what was not understood on the command line.
type usageError string

func (e usageError) Error() string { return string(e) + "; see: holdfast help" }

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal syscall.Signal }

func (s stopped) Error() string { return fmt.Sprintf("stopped by a signal: %v", s.signal) }

// untilSignal returns a context that ends with the first signal that asks the program to end. The
// second one ends the program at once. A broken pipe is such a signal as well, because output to it
// would otherwise end the program before it has tidied up.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	// Owned by main. It ends with the context, by a signal or by stop. Nobody needs to wait for it.
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s.(syscall.Signal)})
			signal.Reset(os.Interrupt, syscall.SIGTERM)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// exitCode says on stderr what went wrong, if anything, and returns the code to end with.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	var unknown usageError
	var by stopped
	if errors.As(err, &by) && isTerminal(stderr) {
		fmt.Fprintln(stderr) // the terminal shows ^C where the cursor was
	}
	fmt.Fprintln(stderr, "holdfast:", err)
	switch {
	case errors.As(err, &unknown):
		return 2
	case errors.As(err, &by):
		return 128 + int(by.signal)
	}
	return 1
}
