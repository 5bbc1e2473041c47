package signal

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is the error of waiting in a hub that was stopped.
var ErrClosed = errors.New("signal: the hub is closed")

// Options configure a [Hub]. Nil is ready for use. The functions are called on the goroutine of a
// wait connection, which waits for them, and with no mutex held.
type Options struct {
	// Reconnecting is called when a wait connection broke, before another is made.
	Reconnecting func(err error)
	// Degraded is called once, when the store refuses blocking reads: from then on waiters depend
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

// A Hub wakes the waiters of one process for the names of one store. It starts its first
// connection when somebody waits. Its methods may be called from any goroutine.
type Hub struct {
	store   Store
	options *Options
	ctx     context.Context // of the looks; ended by Stop
	cancel  context.CancelFunc
	stop    <-chan struct{} // closed by Stop: ctx's
	ended   chan struct{}   // closed when the hub is closed and its last goroutine has ended

	mu      sync.Mutex // guards the fields below, and those of entries and waiters
	phase   hubPhase
	entries map[Name]*entry
	conns   []*conn
	born    int                  // how many connections there ever were: the next one's number
	surplus map[string]time.Time // since when a group has had a connection too many
	running int                  // the goroutines of connections, two each, and the one that gives back

	// What is to be given back; a new one for every signal. Nil: no goroutine gives back.
	back map[Name]*signalBack

	// The store refuses blocking reads. It is apart from the phase: it may be found out in any, and
	// a hub that only looks is stopped and closed as others are.
	degraded bool
}

// A hubPhase says how far the end of a hub has come. No phase is left for an earlier one.
//
//	open      Stop, or Close                    -> stopped
//	stopped   Close                             -> closing
//	closing   Close has lost its patience       -> cut off
//	          the last goroutine has ended      -> over
//	cut off   the last goroutine has ended      -> over
//
// From stopped on nobody joins, no read begins and the connections end. Signals are still given
// back until the hub is cut off. When it is over, nothing runs and nothing can start.
type hubPhase int

const (
	hubOpen hubPhase = iota
	hubStopped
	hubClosing
	hubCutOff
	hubOver
)

func (h *Hub) stoppedLocked() bool { return h.phase >= hubStopped }

// enterPhaseLocked brings the hub at least to the phase, and to its end if nothing runs.
func (h *Hub) enterPhaseLocked(p hubPhase) {
	h.phase = max(h.phase, p)
	h.endLocked()
}

// New returns a hub that waits in store. Nil options are ready for use.
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
		surplus: make(map[string]time.Time),
	}
}

// Stop refuses new waiters and ends the waiting of all others with [ErrClosed]. It does not block.
func (h *Hub) Stop() {
	h.mu.Lock()
	if h.stoppedLocked() {
		h.mu.Unlock()
		return
	}
	h.enterPhaseLocked(hubStopped)
	h.cancel()
	var blocked []*conn
	for _, c := range h.conns {
		if c.callLocked() {
			blocked = append(blocked, c)
		}
	}
	h.mu.Unlock()
	for _, c := range blocked {
		h.call(c)
	}
}

// Close stops the hub, gives back the signals that nobody used and closes the connections. It
// waits for all that, at most for the limit; then it cuts the connections off and waits for their
// goroutines, at most for one operation. Waiters should have left before: what they give back later
// is lost.
func (h *Hub) Close(limit time.Duration) {
	h.Stop()
	h.mu.Lock()
	h.enterPhaseLocked(hubClosing)
	h.mu.Unlock()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-h.ended:
	case <-t.C:
		h.cut()
		<-h.ended
	}
}

// exit is the last thing that one of the hub's goroutines does.
func (h *Hub) exit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	h.endLocked()
}

// endLocked ends the hub if it is closed and nothing runs. Nothing can start from then on: while
// it runs, a goroutine may start another one; waiters may not after this.
func (h *Hub) endLocked() {
	if h.phase >= hubClosing && h.phase < hubOver && h.running == 0 {
		h.phase = hubOver
		close(h.ended)
	}
}

// cut closes all connections under their readers, and gives nothing back any more.
func (h *Hub) cut() {
	h.mu.Lock()
	h.enterPhaseLocked(hubCutOff)
	clear(h.back)
	var links []Conn
	for _, c := range h.conns {
		if c.link != nil {
			links = append(links, c.link)
		}
	}
	h.mu.Unlock()
	for _, link := range links {
		link.Close()
	}
}

// call calls a blocked connection back; nil is none.
func (h *Hub) call(c *conn) {
	if c != nil {
		h.store.Wake(c.number)
	}
}

// enterLocked makes the entry of a name and registers it on a connection, which is returned if it
// is to be called back.
func (h *Hub) enterLocked(name Name, now time.Time) (*entry, *conn) {
	e := &entry{name: name, heard: now}
	e.timer = time.AfterFunc(time.Hour, func() { h.expired(e) })
	e.timer.Stop()
	h.entries[name] = e
	return e, h.placeLocked(e, now)
}

// dropLocked forgets an entry.
func (h *Hub) dropLocked(e *entry) {
	e.timer.Stop()
	delete(h.entries, e.name)
	delete(e.conn.names, e.name)
}

// deliver hands signals that were read to whom they concern.
func (h *Hub) deliver(names ...Name) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		e := h.entries[name]
		if e == nil {
			h.giveBackLocked(name)
			continue
		}
		e.signalled = true
		e.askLocked()
	}
}
