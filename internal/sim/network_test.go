package sim

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gomodule/redigo/redis"
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
}

// An incident happens at one instant.
type incident struct {
	client int
	at     time.Duration
	what   mishap
	after  int           // cutBytes: how many more bytes pass
	down   bool          // cutBytes: of replies
	step   time.Duration // of the clock
}

type mishap int

const (
	cut      mishap = iota // all connections break
	cutBytes               // a connection breaks after so many more bytes
	flush                  // the store forgets its scripts
	wipe                   // the store is restarted without its data
	restart                // with them
	clock                  // the store's clock is stepped
)

func (m mishap) String() string {
	return [...]string{"cut", "cut after bytes", "script flush", "wipe", "restart", "clock step"}[m]
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
	c := &conn{world: w, client: client, up: newStream(), down: newStream()}
	w.mu.Lock()
	w.conns[c] = true
	w.mu.Unlock()
	w.redis.Server().ServeConn(&end{conn: c, in: c.up, out: c.down})
	return redis.NewConn(&end{conn: c, in: c.down, out: c.up}, 0, 0), nil
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
	if broken {
		w.note("connection of client %d cut within a write", c.client)
		c.breaks(at, true)
		return pass, errCut
	}
	return len(b), nil
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

// cutAll breaks the connections of a client, or of all.
func (w *world) cutAll(client int) {
	w.mu.Lock()
	var all []*conn
	for c := range w.conns {
		if client == everybody || c.client == client {
			all = append(all, c)
		}
	}
	w.mu.Unlock()
	for _, c := range all {
		c.breaks(time.Now(), false)
	}
}

// incidents lets happen what is planned.
func (w *world) incidents() {
	for i := range w.plan.incidents {
		in := w.plan.incidents[i]
		time.Sleep(in.at - w.elapsed()) // in the bubble
		switch in.what {
		case cut:
			w.cutAll(in.client)
		case restart:
			w.cutAll(everybody)
		case flush:
			w.command("SCRIPT", "FLUSH")
		case wipe:
			w.cutAll(everybody)
			t := w.takeover("", nobody)
			w.redis.FlushAll()
			w.command("SCRIPT", "FLUSH")
			t.over(w, true)
		case clock:
			w.stepClock(in.step)
		}
		w.note("%v of client %d, step %v", in.what, in.client, in.step)
	}
}

// command sends one command past all accidents.
func (w *world) command(name string, args ...any) {
	conn, err := w.redis.Dial()
	if err != nil {
		w.violation("dial: %v", err)
		return
	}
	c := redis.NewConn(conn, 0, 0)
	defer c.Close()
	if _, err := c.Do(name, args...); err != nil {
		w.violation("%s: %v", name, err)
	}
}

// stepClock steps the store's clock. Keys expire by it, at an absolute time: so a step back lets them
// live longer, and a step forward makes them die earlier.
func (w *world) stepClock(step time.Duration) {
	if step > 0 {
		defer w.takeover("", nobody).over(w, true)
	}
	w.setClock()
	keys := w.redis.Keys()
	w.clockMu.Lock()
	w.skew += step
	w.clockMu.Unlock()
	w.setClock()
	for _, key := range keys {
		if ttl := w.redis.TTL(key); ttl > 0 && step < 0 {
			w.redis.SetTTL(key, ttl-step)
		}
	}
}

// setClock tells the store what time it is, if that is not the bubble's.
func (w *world) setClock() {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	if w.skewed = w.skewed || w.skew != 0; w.skewed {
		w.redis.SetTime(time.Now().Add(w.skew))
	}
}
