package lock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// do runs fn while it holds what take takes.
func do(ctx context.Context, e *engine.Engine, take func(context.Context) (*Lease, error),
	fn func(context.Context, *Lease) error,
) error {
	if !e.EnterDo() {
		return ErrClosed
	}
	defer e.LeaveDo()
	lease, err := take(ctx)
	if err != nil {
		return err
	}
	lease.held().UsedByDo()
	unlocked := false
	defer func() {
		if !unlocked { // fn panicked, or ended its goroutine
			_ = lease.finish()
		}
	}()
	inner, cancel := lease.Context(ctx)
	defer cancel()
	err = fn(inner, lease)
	unlocked = true
	return doError(err, lease.finish())
}
