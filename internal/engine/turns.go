package engine

import (
	"context"
	"sync"
)

// Turns let calls about one name run one after the other, those about others at once. Their zero
// value is ready.
type turns struct {
	mu    sync.Mutex               // guards the field below
	taken map[string]chan struct{} // by names; closed at the end of the turn
}

// enter waits for the turn of a call about a name, or until ctx ends, whose error it returns then.
// After it has returned nil, leave must be called. All who wait wake at the end of a turn, and one
// of them takes the next: there is no order among them, and none is needed.
func (t *turns) enter(ctx context.Context, name string) error {
	for {
		over, taken := t.take(name)
		if !taken {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take takes the turn, or returns whose end is to be waited for.
func (t *turns) take(name string) (over <-chan struct{}, taken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over, taken := t.taken[name]; taken {
		return over, true
	}
	if t.taken == nil {
		t.taken = make(map[string]chan struct{})
	}
	t.taken[name] = make(chan struct{})
	return nil, false
}

// leave ends the turn. The entry goes with it, so that names of the past cost nothing.
func (t *turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.taken[name])
	delete(t.taken, name)
}
