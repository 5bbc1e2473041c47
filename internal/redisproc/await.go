package redisproc

import (
	"context"
	"fmt"
	"time"
)

// Await asks a server every few milliseconds until ask returns nil: the server answers. It fails
// with the last error of ask if gone says that there will be no answer, and when ctx ends. gone is
// asked only when ask has failed: a server that answers and then goes has answered.
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
