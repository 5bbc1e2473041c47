package chaos

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// A run is what all its parts share.
type run struct {
	recorder
	t      testing.TB
	cfg    Config
	names  []string
	server *redistest.Server
	seats  []*seat
	random *rand.Rand // of the test's goroutine

	workers  []*worker
	nemeses  []*nemesis
	watching redis.Conn

	adminMu sync.Mutex // of the connection that follows
	admin   redis.Conn

	handMu sync.Mutex          // guards the field below
	ids    map[string][]string // of locks that were detached
}

// Run runs rounds on a private server until the time is over, and gives check the history of each: what
// was left after the end is in the last one. It stops when check returns false.
func Run(t testing.TB, cfg Config, check func(h *History) bool) {
	t.Helper()
	r := start(t, cfg)
	before := map[string]int64{}
	idle := runtime.NumGoroutine()
	for _, s := range r.seats {
		s.client = r.open(s)
	}
	for round := 0; ; round++ {
		r.record(func(*History) { r.h = &History{Config: cfg, Round: round, Before: before} })
		if !r.round() {
			check(r.h)
			t.FailNow() // what hangs would disturb everything that follows
		}
		last := r.now() >= cfg.Duration
		if last {
			r.close(idle)
		}
		before = r.h.greatest()
		if good := check(r.h); !good || last {
			if !last {
				r.close(idle)
			}
			return
		}
	}
}

// start starts the server and the proxies, and makes the parts of the run.
func start(t testing.TB, cfg Config) *run {
	t.Helper()
	r := &run{
		recorder: recorder{began: time.Now()}, t: t, cfg: cfg, names: cfg.names(),
		server: redistest.Start(t), random: cfg.random(0), ids: map[string][]string{},
	}
	r.watching, r.admin = r.server.Dial(t), r.server.Dial(t)
	for i := range cfg.Clients {
		s := &seat{index: i, proxy: faultproxy.Start(t, r.server.Network(), r.server.Addr())}
		s.url = s.proxy.URL()
		r.seats = append(r.seats, s)
		r.nemeses = append(r.nemeses, &nemesis{run: r, seat: s, random: cfg.random(uint64(1 + i))})
		for range cfg.Workers {
			n := len(r.workers)
			w := &worker{run: r, seat: s, index: n, random: cfg.random(uint64(1000 + n))}
			r.workers = append(r.workers, w)
		}
	}
	return r
}

// round runs programs under faults, heals, and waits until every program has come to its end. It returns
// false if one does not.
func (r *run) round() bool {
	stopFaults, stopWork, stopWatch := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var faults, work, watching sync.WaitGroup
	w := &watch{rec: &r.recorder, conn: r.watching, names: r.names}
	watching.Go(func() { w.run(stopWatch) })
	for _, n := range r.nemeses {
		faults.Go(func() { n.rage(stopFaults) })
	}
	for _, w := range r.workers {
		work.Go(func() { w.work(stopWork) })
	}
	r.torment(r.cfg.Round)
	close(stopFaults)
	faults.Wait()
	wait(nil, r.cfg.Round/10)
	close(stopWork)
	ended := r.ended(&work)
	close(stopWatch)
	watching.Wait()
	return ended
}

// ended waits for the programs. The longest wait, and then the longest release, bound how long that takes.
func (r *run) ended(work *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { // ends with the programs
		work.Wait()
		close(done)
	}()
	if wait(done, patience+5*operationLimit) {
		r.seen("a call hangs:\n%s", stacks())
		return false
	}
	return true
}

// greatest returns the greatest tokens that there were until the end of this round.
func (h *History) greatest() map[string]int64 {
	tokens := map[string]int64{}
	for name, token := range h.Before {
		tokens[name] = token
	}
	for _, l := range h.Leases {
		tokens[l.Name] = max(tokens[l.Name], l.Fence)
	}
	return tokens
}

// hand leaves the id of a detached lock to whoever wants to adopt it.
func (r *run) hand(name, id string) {
	r.handMu.Lock()
	defer r.handMu.Unlock()
	r.ids[name] = append(r.ids[name], id)
}

func (r *run) handed(name string) (id string, ok bool) {
	r.handMu.Lock()
	defer r.handMu.Unlock()
	ids := r.ids[name]
	if len(ids) == 0 {
		return "", false
	}
	r.ids[name] = ids[:len(ids)-1]
	return ids[len(ids)-1], true
}

// deleted deletes a lock as an operator may, and reports whether there was one.
func (r *run) deleted(name string) bool {
	n, err := redis.Int(r.command("DEL", "lock:"+name))
	return err == nil && n > 0
}

// command sends one past all proxies.
func (r *run) command(name string, args ...any) (any, error) {
	r.adminMu.Lock()
	defer r.adminMu.Unlock()
	return r.admin.Do(name, args...)
}
