package sim

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// everybody stands for all clients in an accident.
const everybody = -1

// A trouble is what a window does.
type trouble int

const (
	holdUp   trouble = iota // commands are held until the window ends
	holdDown                // replies are held
	dropUp                  // commands are lost, and so is all that follows on the connection
	dropDown                // replies are lost, likewise
	pause                   // everything is held, dials too
	refuse                  // dials fail
	hang                    // dials are held
)

func (t trouble) String() string {
	return [...]string{"hold up", "hold down", "drop up", "drop down", "pause", "refuse", "hang"}[t]
}

// A window is a trouble for a while.
type window struct {
	client   int
	from, to time.Duration // since the program's begin
	what     trouble
	late     bool // commands held are executed although their connection was closed meanwhile
	tails    bool // as late, and for as long as a kernel may send them
}

var (
	errRefused = errors.New("sim: connection refused")
	errCut     = errors.New("sim: connection reset")
)

// lateBy is how long a command of a closed connection may take to be executed: an operation limit,
// which the library counts on.
const lateBy = 1900 * time.Millisecond

// hits reports whether a window is one of these troubles, for this client, at this time.
func (w *window) hits(client int, at time.Duration, any ...trouble) bool {
	if w.client != everybody && w.client != client || at < w.from || at >= w.to {
		return false
	}
	for _, what := range any {
		if w.what == what {
			return true
		}
	}
	return false
}

// arrival says when what is written now arrives, or that it never does.
func (w *world) arrival(client int, down bool) (at time.Time, lost bool) {
	d := w.elapsed() + w.delay(client)
	hold, drop := holdUp, dropUp
	if down {
		hold, drop = holdDown, dropDown
	}
	for moved := true; moved; {
		moved = false
		for i := range w.plan.windows {
			win := &w.plan.windows[i]
			if win.hits(client, d, drop) {
				return at, true
			}
			if win.hits(client, d, hold, pause) {
				d, moved = win.to, true
			}
		}
	}
	return w.began.Add(d), false
}

// delay is the latency of one piece.
func (w *world) delay(client int) time.Duration {
	most := w.plan.clients[client].latency
	if most == 0 {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.jitter[client].Int64N(int64(most)))
}

// dial connects a client.
func (w *world) dial(ctx context.Context, client int) (_ redis.Conn, err error) {
	began := w.elapsed()
	defer func() { w.note("  dialled by client %d since %v: %v", client, began, err) }()
	for i := range w.plan.windows {
		win := &w.plan.windows[i]
		switch now := w.elapsed(); {
		case win.hits(client, now, refuse):
			return nil, errRefused
		case win.hits(client, now, pause, hang):
			if err := sleep(ctx, win.to-now); err != nil {
				return nil, err
			}
		}
	}
	if err := sleep(ctx, w.delay(client)); err != nil {
		return nil, err
	}
	c := &conn{world: w, client: client, born: w.elapsed(), up: newStream(), down: newStream()}
	w.enter(c)
	w.redis.Server().ServeConn(&end{conn: c, in: c.up, out: c.down})
	socket := &end{conn: c, in: c.down, out: c.up}
	return redis.NewConn(redisconn.Over(ctx, socket, "sim"), 0, 0), nil
}

// sleep is time.Sleep in the bubble that a context ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transmit is a write to one end of a conn.
func (w *world) transmit(e *end, b []byte) (int, error) {
	c, down := e.conn, e.out == e.conn.down
	pass, broken := w.passes(c.client, down, len(b))
	at, lost := w.arrival(c.client, down)
	if !down {
		w.watchWrites(b)
	}
	if err := e.out.push(b[:pass], at, lost); err != nil {
		return 0, net.ErrClosed
	}
	w.greets(e.conn, e.out.isLost())
	if broken {
		w.note("connection of client %d cut within a write", c.client)
		c.breaks(at, true)
		return pass, errCut
	}
	return len(b), nil
}

// dialLimit is how long a dial may take, with its greeting.
const dialLimit = 10 * time.Second

// greets takes note whether a piece of a connection's greeting is lost, or of what the dial sends after it.
// What is lost does not come again here, as a kernel would send it: so its client goes on waiting until the
// dial has had its time.
func (w *world) greets(c *conn, lost bool) {
	until := c.born + dialLimit
	if !lost || w.elapsed() >= until {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialling[c.client] = max(w.dialling[c.client], until)
}

// awaitDials waits until no client waits for a dial whose greeting is lost: else Close could not reach the
// store.
func (w *world) awaitDials() {
	w.mu.Lock()
	until := time.Duration(0)
	for _, d := range w.dialling {
		until = max(until, d+2*opLimit)
	}
	w.mu.Unlock()
	time.Sleep(until - w.elapsed()) // in the bubble
}

// breaks ends both directions at a time.
func (c *conn) breaks(at time.Time, keepUp bool) {
	c.up.finish(at, keepUp)
	c.down.finish(time.Now(), false)
}

// passes says how many bytes of a write get through, and whether the connection breaks after them.
func (w *world) passes(client int, down bool, n int) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.cuts {
		in := &w.cuts[i]
		if in.what != cutBytes || in.client != client || in.down != down || in.after < 0 ||
			w.elapsed() < in.at {
			continue
		}
		if in.after -= n; in.after < 0 {
			return n + in.after, true
		}
	}
	return n, false
}

// lastExecution says until when the other side reads what was sent before an end was closed.
func (w *world) lastExecution(c *conn, out *stream) (at time.Time, keep bool) {
	now := time.Now()
	if out == c.down {
		return now, false
	}
	for i := range w.plan.windows {
		win := &w.plan.windows[i]
		if win.late && win.hits(c.client, w.elapsed(), holdUp, pause) {
			return now.Add(lateBy), true
		}
	}
	return now, false
}

func (w *world) forget(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}
