package signal

import (
	"context"
	"sync"
	"time"
)

// Options configure a [Hub]. Nil is ready for use. The functions are called on the goroutine of a
// wait connection, which waits for them, and with no mutex held.
type Options struct {
	// Reconnecting is called when a wait connection broke, before another is made.
	Reconnecting func(err error)
	// Degraded is called once, when the store refuses blocking reads. From then on waiters depend
	// on the looks and on their timers.
	Degraded func(err error)
}

func (o *Options) reconnecting(err error) {
	if o != nil && o.Reconnecting != nil {
		o.Reconnecting(err)
	}
}

func (o *Options) degraded(err error) {
	if o != nil && o.Degraded != nil {
		o.Degraded(err)
	}
}

// A Hub wakes the waiters of one process for the names of one store. It starts its first connection
// when somebody waits. Its methods may be called from any goroutine.
type Hub struct {
	store   Store
	options *Options
	ctx     context.Context // of the looks; ended by Stop
	cancel  context.CancelFunc
	stop    <-chan struct{} // closed by Stop: ctx's
	ended   chan struct{}   // closed when the hub is over

	// mu guards the fields below, and those of entries, seats and conns. The store is never called
	// with it held, but for Group, which does not block.
	mu      sync.Mutex
	phase   hubPhase
	entries map[Name]*entry
	homes   map[*entry]*conn // where an entry is registered: conn.names the other way round
	conns   []*conn
	born    int                  // how many connections there ever were: the next one's number
	surplus map[string]time.Time // since when a group has had a connection too many
	running int                  // goroutines: two of each connection, and the one that gives back

	// What is to be given back; a new one for every signal. Nil: no goroutine gives back.
	back map[Name]*signalBack

	// The store refuses blocking reads. That is apart from the phase. It may be found out in any,
	// and a hub that only looks is stopped and closed as others are.
	degraded bool
}

// A hubPhase says how far the end of a hub has come. No phase is left for an earlier one.
//
//	open     Stop, or Close                -> stopped
//	stopped  Close                         -> closing
//	closing  Close has lost its patience   -> cut off
//	         the last goroutine has ended  -> over
//	cut off  the last goroutine has ended  -> over
//
// From stopped on nobody joins, no read begins, and the connections end. Signals are still given
// back until the hub is cut off. When it is over, nothing runs and nothing can start.
type hubPhase int

const (
	hubOpen hubPhase = iota
	hubStopped
	hubClosing
	hubCutOff
	hubOver
)

// A signalBack is one signal that is to be given back.
type signalBack struct {
	until time.Time // when the hub stops trying
}

// New returns a hub that waits in store. Nil options are ready for use. It starts nothing.
func New(store Store, o *Options) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{
		store:   store,
		options: o,
		ctx:     ctx,
		cancel:  cancel,
		stop:    ctx.Done(),
		ended:   make(chan struct{}),
		entries: make(map[Name]*entry),
		homes:   make(map[*entry]*conn),
		surplus: make(map[string]time.Time),
	}
}

func (h *Hub) stoppedLocked() bool { return h.phase >= hubStopped }

// onlyLooksLocked reports whether no read is to begin. A stopped hub reads nothing, since nobody
// would call its connections back. Nor does one whose store refuses blocking reads.
func (h *Hub) onlyLooksLocked() bool { return h.stoppedLocked() || h.degraded }

// call calls a blocked connection back; nil is none.
func (h *Hub) call(c *conn) {
	if c != nil {
		h.store.Wake(c.number)
	}
}

// takeLocked registers the entry on c. The blocking read of the connection that had it before goes
// on with it: what a signal sets is the entry's, whichever connection reads it.
func (h *Hub) takeLocked(c *conn, e *entry) {
	if home := h.homes[e]; home != nil {
		delete(home.names, e.name)
	}
	h.homes[e], c.names[e.name] = c, e
}

// dropLocked forgets an entry.
func (h *Hub) dropLocked(e *entry) {
	e.timer.Stop()
	delete(h.entries, e.name)
	delete(h.homes[e].names, e.name)
	delete(h.homes, e)
}
