package chaos

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	watchEvery = 3 * time.Millisecond
	worthwhile = 20 * time.Millisecond // shorter times are not written down
)

// A watch asks Redis, past all proxies, which locks are free.
type watch struct {
	rec   *recorder
	conn  redis.Conn
	names []string

	free   map[string]Free // that go on
	tokens map[string]string
}

// run asks until stop is closed.
func (w *watch) run(stop <-chan struct{}) {
	w.free, w.tokens = map[string]Free{}, map[string]string{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			for name := range w.free {
				w.over(name)
			}
			return
		case <-tick.C:
			w.ask()
		}
	}
}

// ask asks once for all names. A time of freedom begins when the answer is there and lasts until right
// before the last question.
func (w *watch) ask() {
	sent := w.rec.now()
	for _, name := range w.names {
		_ = w.conn.Send("EXISTS", "lock:"+name) // errors of Send come back from Do
		_ = w.conn.Send("GET", "lock-fence:"+name)
	}
	replies, err := redis.Values(w.conn.Do(""))
	if err != nil {
		w.rec.seen("asking Redis who is free: %v", err)
		return
	}
	got := w.rec.now()
	for i, name := range w.names {
		held, _ := redis.Bool(replies[2*i], nil)
		token, _ := redis.String(replies[2*i+1], nil)
		f, was := w.free[name]
		switch {
		case was && (held || token != w.tokens[name]):
			w.over(name)
		case was:
			f.To = sent
			w.free[name] = f
		case !held:
			w.free[name] = Free{name, got, got}
		}
		w.tokens[name] = token
	}
}

func (w *watch) over(name string) {
	f := w.free[name]
	delete(w.free, name)
	if f.To-f.From > worthwhile {
		w.rec.record(func(h *History) { h.Free = append(h.Free, f) })
	}
}
