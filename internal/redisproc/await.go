package redisproc

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Await asks a server every few milliseconds until ask returns nil: the server answers. It fails
// with the last error of ask if gone says that there will be no answer, and when ctx ends.
func Await(ctx context.Context, ask func(context.Context) error, gone func() bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if gone() {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", err)
		}
	}
}

// await is Await for a process, with errors that tell how it ended.
func (p *Process) await(ctx context.Context, ask Ask) error {
	err := Await(ctx, func(ctx context.Context) error { return ask(ctx, p) }, p.Exited)
	if err == nil {
		return nil
	}
	if p.Exited() {
		err = fmt.Errorf("it ended at once (%v)", p.child.Wait())
	}
	log := strings.TrimSpace(p.Log())
	return fmt.Errorf("%w; its last words: %q", err, log[strings.LastIndexByte(log, '\n')+1:])
}
