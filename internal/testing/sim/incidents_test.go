package sim

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// An incident happens at one instant.
type incident struct {
	client int
	at     time.Duration
	what   mishap
	after  int           // cutBytes: how many more bytes pass
	down   bool          // cutBytes: of replies
	step   time.Duration // of the clock; stray: how late what was sent is executed
}

type mishap int

const (
	cut      mishap = iota // all connections break
	cutBytes               // a connection breaks after so many more bytes
	flush                  // the store forgets its scripts
	wipe                   // the store is restarted without its data
	restart                // with them
	clock                  // the store's clock is stepped
	stray                  // all connections break, and what was sent is executed late
)

func (m mishap) String() string {
	return [...]string{"cut", "cut after bytes", "script flush", "wipe", "restart", "clock step", "stray"}[m]
}

// connsOf returns the connections of a client, or of all.
func (w *world) connsOf(client int) []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*conn
	for c := range w.conns {
		if client == everybody || c.client == client {
			all = append(all, c)
		}
	}
	return all
}

// cutAll breaks the connections of a client, or of all.
func (w *world) cutAll(client int) {
	for _, c := range w.connsOf(client) {
		c.breaks(time.Now(), false)
	}
}

// strayAll breaks the connections of a client; what is on its way to the store arrives late.
func (w *world) strayAll(client int, late time.Duration) {
	for _, c := range w.connsOf(client) {
		c.up.straggle(time.Now().Add(late))
		c.down.finish(time.Now(), false)
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
			w.newRun()
		case flush:
			w.command("SCRIPT", "FLUSH")
		case wipe:
			w.cutAll(everybody)
			w.newRun()
			t := w.takeover("", nobody)
			w.redis.FlushAll()
			w.command("SCRIPT", "FLUSH")
			t.over(w, true)
		case clock:
			w.stepClock(in.step)
		case stray:
			w.strayAll(in.client, in.step)
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
	if w.skewed = w.skewed || w.skew != 0 || w.plan.rate != 0; w.skewed {
		drift := time.Duration(w.plan.rate * float64(w.elapsed()))
		w.redis.SetTime(time.Now().Add(w.skew + drift))
	}
}
