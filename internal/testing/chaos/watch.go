package chaos

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// watchEvery is how often Redis is asked: shorter times are not seen.
const watchEvery = 3 * time.Millisecond

// A watch asks Redis, past all proxies, which locks are free.
type watch struct {
	rec   *recorder
	conn  redis.Conn
	spots []spot
}

// A spot is one lock, or one lock as a member of the pool: as such it is only free while it belongs to it.
type spot struct {
	name, pool string
	free       *Free // that goes on; or nil
	token      string
}

// newWatch returns one for the common locks and those of the pool.
func newWatch(rec *recorder, conn redis.Conn, names []string) *watch {
	w := &watch{rec: rec, conn: conn}
	for _, name := range append(names, stay) {
		w.spots = append(w.spots, spot{name: name})
	}
	for _, name := range members {
		w.spots = append(w.spots, spot{name: name}, spot{name: name, pool: poolName})
	}
	return w
}

// run asks until stop is closed.
func (w *watch) run(stop <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			for i := range w.spots {
				w.over(&w.spots[i])
			}
			return
		case <-tick.C:
			w.ask()
		}
	}
}

// ask asks once for all. A time of freedom begins when the answer is there and lasts until right before
// the last question.
func (w *watch) ask() {
	sent := w.rec.now()
	for _, s := range w.spots {
		member, _ := memberOf(s.name)
		_ = w.conn.Send("EXISTS", "lock:"+s.name) // errors of Send come back from Do
		_ = w.conn.Send("GET", "lock-fence:"+s.name)
		_ = w.conn.Send("ZSCORE", poolKey, member)
	}
	replies, err := redis.Values(w.conn.Do(""))
	if err != nil {
		w.rec.seen("asking Redis who is free: %v", err)
		return
	}
	got := w.rec.now()
	for i := range w.spots {
		s := &w.spots[i]
		held, _ := redis.Bool(replies[3*i], nil)
		token, _ := redis.String(replies[3*i+1], nil)
		free := !held && (s.pool == "" || replies[3*i+2] != nil)
		switch {
		case s.free != nil && (!free || token != s.token):
			w.over(s)
		case s.free != nil:
			s.free.To = sent
		case free:
			s.free = &Free{s.name, s.pool, got, got}
		}
		s.token = token
	}
}

// over writes down a time of freedom, if it was seen at least twice.
func (w *watch) over(s *spot) {
	if f := s.free; f != nil && f.To > f.From {
		w.rec.record(func(h *History) { h.Free = append(h.Free, *f) })
	}
	s.free = nil
}
