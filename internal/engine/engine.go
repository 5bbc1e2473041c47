package engine

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/renewal"
	"github.com/holdfast-go/holdfast/signal"
)

// Options configure an [Engine].
type Options struct {
	Words      Words
	Events     Events
	MaxWaiters int  // how many calls of Lock may wait at the same time; 0: no limit
	Keep       bool // Close leaves what is held to expire
}

// An Engine makes the acquisitions of one client. It is open from [New] to [Engine.Close]. Its
// methods may be called from any goroutine.
//
// It starts no goroutine itself, save the timer by which Close cuts the connections. Those that
// work for it belong to its hub, its leases and its janitor, which Close closes and waits for.
// Everything else happens on the goroutine of whoever calls.
type Engine struct {
	core
	hub        *signal.Hub
	leases     *renewal.Set[*Lease]
	maxWaiters int
	keep       bool

	retries  pace  // of Lock
	breaks   pace  // of connections for waiting
	blocking turns // of calls of Block

	calls    gate // the calls under way
	fns      gate // the functions that Do runs
	refusing sync.Once
	closing  chan struct{} // closed when calls are refused
	once     sync.Once
	closed   chan struct{} // closed when Close is done
}

// New returns an engine for a store, which it closes at its end. It does no input or output.
func New(s *store.Store, o Options) *Engine {
	e := &Engine{
		core:       core{store: s, janitor: janitor.New(s), events: o.Events, words: o.Words},
		maxWaiters: o.MaxWaiters,
		keep:       o.Keep,
		closing:    make(chan struct{}),
		closed:     make(chan struct{}),
	}
	e.hub = signal.New(s.Wait(), &signal.Options{
		Reconnecting: e.reconnecting,
		Degraded:     func(err error) { tell(e.events.Degraded, err) },
	})
	e.leases = renewal.New(e.renew, &renewal.Options[*Lease]{
		Renewed: renewed,
		Failed:  renewalFailed,
		Ending:  ending,
		Ended:   ended,
	})
	return e
}

// reconnecting is called when a connection for waiting broke.
func (e *Engine) reconnecting(err error) {
	if times, ok := e.breaks.due(err); ok {
		tell(e.events.Reconnecting, Reconnecting{Err: err, Times: times})
	}
}

// Store returns the store that the engine uses.
func (e *Engine) Store() *store.Store { return e.store }

// Stats returns a snapshot: all of it is of one moment, save Connections.
func (e *Engine) Stats() Stats {
	s := e.stats.snapshot()
	s.Connections = e.store.Connections()
	return s
}

// Closing returns a channel that is closed when the engine begins to refuse calls.
func (e *Engine) Closing() <-chan struct{} { return e.closing }

// Enter begins a call. The error Is [ErrInvalid] if ctx is nil, or [ErrClosed]. Each success is
// followed by [Engine.Leave].
func (e *Engine) Enter(ctx context.Context) error {
	if ctx == nil {
		return Invalid("the context is nil: pass context.Background()")
	}
	if !e.calls.enter() {
		return ErrClosed
	}
	return nil
}

// Leave ends a call.
func (e *Engine) Leave() { e.calls.leave() }

// EnterDo begins a function that Do runs. It returns false if the engine is closed. Each success is
// followed by [Engine.LeaveDo].
func (e *Engine) EnterDo() bool { return e.fns.enter() }

// LeaveDo ends a function that Do runs.
func (e *Engine) LeaveDo() { e.fns.leave() }

// Twice does something within a call, and once again after a network error.
func (e *Engine) Twice(ctx context.Context, do func() error) error { return e.twice(ctx, do) }

// Call does something as a call of its own, that may be done again after a network error. op and
// name are for the error.
func (e *Engine) Call(ctx context.Context, op, name string, do func() error) error {
	if err := e.Enter(ctx); err != nil {
		return err
	}
	defer e.Leave()
	if err := e.twice(ctx, do); err != nil {
		return Explain(op, name, err)
	}
	return nil
}

// Step is one round trip of a call that takes many, whose error the caller explains. The engine is
// entered for that time only: Close need not wait for the rest of the call, and what runs between
// two round trips may be user code.
func (e *Engine) Step(ctx context.Context, do func() error) error {
	if err := e.Enter(ctx); err != nil {
		return err
	}
	defer e.Leave()
	return e.twice(ctx, do)
}
