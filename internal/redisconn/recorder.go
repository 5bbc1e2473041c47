package redisconn

import (
	"context"
	"sync"
)

// A recorder learns which wires are dialled under a context. redigo does not tell on what its
// connections stand, and a dialer of the user's hides the call of [NetDial].
type recorder struct {
	mu   sync.Mutex // guards the field below
	last *Wire
}

type recorderKey struct{}

// withRecorder returns a context under which r learns what is dialled.
func withRecorder(ctx context.Context, r *recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// recordWire tells the recorder of ctx, if there is one, that w was dialled.
func recordWire(ctx context.Context, w *Wire) {
	if r, ok := ctx.Value(recorderKey{}).(*recorder); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = w
	}
}

// wire returns the last wire that was dialled; nil if none was. The wire forgets what
// the dial has written on it.
func (r *recorder) wire() *Wire {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		r.last.forget()
	}
	return r.last
}
