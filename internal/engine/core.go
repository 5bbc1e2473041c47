package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A core is what everything in an engine shares: who asks, who holds and who cleans up. Its fields
// do not change.
type core struct {
	store   *store.Store
	janitor *janitor.Janitor
	events  Events
	words   Words
	stats   counters

	// releases are those under way, of calls of Release and Detach. Close waits for them after the
	// calls, since a function that Do ran may release while everything else has ended.
	releases gate
}

// twice does something, and once again after a network error. Who calls it knows that to do it
// twice is the same as once, or finds out by the answer.
func (c *core) twice(ctx context.Context, do func() error) error {
	err := do()
	if err != nil && store.Broken(err) && ctx.Err() == nil && c.store.Met() {
		c.stats.countRetry()
		return store.Repeated(err, do())
	}
	return err
}

// waitUntil waits until the time has come or the channel is closed; nil never is.
func waitUntil(t time.Time, done <-chan struct{}) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}
