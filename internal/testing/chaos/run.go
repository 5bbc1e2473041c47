package chaos

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
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

	workers []*worker
	dropper *worker
	relays  []*relay // one for each common lock
	lossy   *relay
	losers  []*worker // who take part in it
	nemeses []*nemesis
	puppets []*puppet
	others  []*stranger
	watch   *watch
	pulse   *pulse

	unharmed []int // clients

	offset time.Duration // by which the clock of all processes is ahead of ours
	rested time.Duration // when the clients were last left alone

	adminMu sync.Mutex // of the connection that follows
	admin   redis.Conn

	stays map[string]*lock.Client // by ids of the lock without expiry; guarded by the recorder's mutex

	handMu sync.Mutex          // guards the field below
	ids    map[string][]string // of locks that were detached
}

// Run runs rounds on a private server until the time is over, at least one that is calm and one that is
// not, and gives check the history of each: what was left after the end is in the last one. It stops when
// check returns false.
func Run(t testing.TB, cfg Config, check func(h *History) bool) {
	t.Helper()
	r := start(t, cfg)
	before := map[string]int64{}
	idle := r.figures()
	for _, s := range r.seats {
		s.client = r.open(s)
		s.shared = pool.New(s.client, poolOf, nil)
	}
	for round := 0; ; round++ {
		r.record(func(*History) {
			r.h = &History{Config: cfg, Round: round, Calm: calm(round), Before: before, Unharmed: r.unharmed}
		})
		if !r.round() {
			check(r.h)
			t.FailNow() // what hangs would disturb everything that follows
		}
		last := r.now() >= cfg.Duration && round > 0
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
		server: redistest.Start(t), random: cfg.random(0),
		ids: map[string][]string{}, stays: map[string]*lock.Client{},
	}
	r.admin = r.server.Dial(t)
	r.watch = newWatch(&r.recorder, r.server.Dial(t), append(r.cfg.names(), lossy))
	r.pulse = &pulse{rec: &r.recorder}
	for _, name := range r.names {
		r.relays = append(r.relays, newRelay(name))
	}
	for i := range cfg.Clients {
		s := r.harmed(i)
		r.seats = append(r.seats, s)
		for range cfg.Workers {
			r.workers = append(r.workers, r.worker(s))
		}
	}
	r.lossyRelay()
	r.dropper = r.worker(r.seats[0])
	ahead, shared := offset(r.now)
	r.offset = ahead
	for i := 0; shared && i < cfg.Processes; i++ {
		p := &puppet{run: r, seat: r.harmed(cfg.Clients + i), random: cfg.random(uint64(2000 + i))}
		r.puppets = append(r.puppets, p)
	}
	for i := range cfg.Strangers {
		r.others = append(r.others, &stranger{run: r, random: cfg.random(uint64(3000 + i)), index: i})
	}
	return r
}

// seat makes a place for clients, behind a proxy.
func (r *run) seat(i int) *seat {
	s := &seat{index: i, proxy: faultproxy.Start(r.t, r.server.Network(), r.server.Addr())}
	s.url = s.proxy.URL()
	return s
}

// worker makes one for a seat. Their numbers are all different.
func (r *run) worker(s *seat) *worker {
	n := len(r.workers) + len(r.losers)
	return &worker{run: r, seat: s, index: n, random: r.cfg.random(uint64(1000 + n))}
}

// harmed makes a place with a nemesis of its own.
func (r *run) harmed(i int) *seat {
	s := r.seat(i)
	r.nemeses = append(r.nemeses, &nemesis{run: r, seat: s, random: r.cfg.random(uint64(1 + i))})
	return s
}

// round runs programs, and waits until every program has come to its end. It returns false if one does
// not.
func (r *run) round() bool {
	r.assign()
	stopWork, stopWatch := make(chan struct{}), make(chan struct{})
	var work, watching sync.WaitGroup
	watching.Go(func() { r.watch.run(stopWatch) })
	watching.Go(func() { r.pulse.run(stopWatch) })
	if r.h.Calm {
		r.pass(&work, stopWork)
	} else {
		r.storm(&work, stopWork)
	}
	close(stopWork)
	ended := r.ended(&work)
	close(stopWatch)
	watching.Wait()
	if ended {
		r.after()
	}
	return ended
}

// pass lets locks be handed over, without faults.
func (r *run) pass(work *sync.WaitGroup, stop <-chan struct{}) {
	for i, w := range r.workers {
		work.Go(func() { w.relay(r.relays[i%len(r.relays)], stop) })
	}
	work.Go(func() { r.dropper.forget(stop) })
	wait(nil, r.cfg.Round/2)
}

// storm runs programs under faults, and heals.
func (r *run) storm(work *sync.WaitGroup, stop <-chan struct{}) {
	stopFaults := make(chan struct{})
	var faults sync.WaitGroup
	for _, n := range r.nemeses {
		faults.Go(func() { n.rage(stopFaults) })
	}
	for _, w := range r.workers {
		work.Go(func() { w.work(stop) })
	}
	for _, w := range r.losers {
		work.Go(func() { w.handOn(r.lossy, stop) })
	}
	for _, p := range r.puppets {
		work.Go(func() { p.live(stop) })
	}
	for _, s := range r.others {
		work.Go(func() { s.live(stop) })
	}
	r.torment(r.cfg.Round)
	close(stopFaults)
	faults.Wait()
	wait(nil, r.cfg.Round/10)
}

// ended waits for the programs. The longest wait, and then the longest release, bound how long that takes.
func (r *run) ended(work *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { // ends with the programs
		work.Wait()
		close(done)
	}()
	longest := max(patience, 3*r.cfg.TTL) // of a call's context
	if wait(done, longest+5*operationLimit) {
		r.seen("a call hangs:\n%s", stacks())
		return false
	}
	return true
}

// after looks at what is there when the programs of a round have ended.
func (r *run) after() {
	r.stayed()
	if r.cfg.Rest > 0 && !r.h.Calm && // of a calm round less stays: it is not to be compared with
		r.now()-r.rested >= r.cfg.Rest {
		wait(nil, restFor)
		f := r.figures()
		r.h.Figures = &f
		r.rested = r.now()
	}
}
