package signal_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

var (
	seeds     = flag.Int("seeds", 4, "how many random programs to run")
	firstSeed = flag.Uint64("seed", 0, "seed of the first one")
)

// A world is two hubs, and waiters of another program that depend on signals alone: they neither
// look nor have timers. All locks are released, none expires, and no signal is lost in the store.
// So a signal that a hub reads and neither uses nor gives back leaves one of them waiting on a free
// lock.
type world struct {
	t     *testing.T
	redis *redis
	names []string
	limit time.Duration // for waiting on a free lock

	mu    sync.Mutex // guards the fields below
	since map[string]map[int]time.Time
	next  int
	got   int
}

// begins and ends tell who waits for a name.
func (w *world) begins(name string) (id int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	if w.since[name] == nil {
		w.since[name] = make(map[int]time.Time)
	}
	w.since[name][w.next] = time.Now()
	return w.next
}

func (w *world) ends(name string, id int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since[name], id)
}

// watch looks every few milliseconds for a lock that has been free, and waited for, for too long.
func (w *world) watch(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(5 * ms)
		for _, name := range w.names {
			if for_ := w.idle(name); for_ > w.limit {
				w.t.Errorf("%s has been free and waited for for %v", name, for_)
				return
			}
		}
	}
}

// idle returns for how long the name has been free with somebody waiting for it all that time.
func (w *world) idle(name string) time.Duration {
	w.redis.mu.Lock()
	freed, free := w.redis.freed[name]
	w.redis.mu.Unlock()
	if !free {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := time.Duration(0)
	for _, since := range w.since[name] {
		longest = max(longest, min(time.Since(since), time.Since(freed)))
	}
	return longest
}

// work holds a lock that was got.
func (w *world) work(r *rand.Rand, name string) {
	w.mu.Lock()
	w.got++
	w.mu.Unlock()
	time.Sleep(time.Duration(r.IntN(20)) * ms)
	w.redis.release(name)
	time.Sleep(time.Duration(r.IntN(60)) * ms)
}

// local takes locks by way of a hub, and often gives up.
func (w *world) local(r *rand.Rand, s *store, h *signal.Hub, end time.Time) {
	for time.Now().Before(end) {
		name := w.names[r.IntN(len(w.names))]
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Duration(r.IntN(80))*ms)
		id := w.begins(name)
		got := w.lock(ctx, s, h, name)
		w.ends(name, id)
		cancel()
		if got {
			w.work(r, name)
		}
	}
}

func (w *world) lock(ctx context.Context, s *store, h *signal.Hub, name string) (got bool) {
	left := signal.Unknown
	if !h.Queued(plain(name)) {
		if got, left = s.ask(name, -1); got {
			return true
		}
	}
	place, err := h.Join(plain(name), left)
	if err != nil {
		return false
	}
	defer func() { place.Leave(got) }()
	for place.Wait(ctx) == nil {
		if ctx.Err() != nil {
			return false // as one whose context ends before the ask is sent
		}
		if got, left = s.ask(name, -1); got {
			return true
		}
		place.Taken(left)
	}
	return false
}

// stranger takes locks as python-redis-lock does.
func (w *world) stranger(r *rand.Rand, end time.Time) {
	for time.Now().Before(end) {
		name := w.names[r.IntN(len(w.names))]
		id := w.begins(name)
		for got := false; !got; {
			if got, _ = w.redis.acquire(name, -1); !got {
				<-w.redis.begin([]string{signalOf(name)}).popped
			}
		}
		w.ends(name, id)
		w.work(r, name)
	}
}

func newWorld(t *testing.T, r *rand.Rand, limit time.Duration) *world {
	return &world{
		t:     t,
		redis: newRedis(),
		names: names("n", 1+r.IntN(100)),
		limit: limit,
		since: make(map[string]map[int]time.Time),
	}
}

func TestRandom(t *testing.T) {
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		bubbleRun(t, fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t, r, 100*ms)
			w.run(r, seed)
			if w.got < 100 {
				t.Errorf("only %d locks were taken", w.got)
			}
		})
	}
}

func (w *world) run(r *rand.Rand, seed uint64) {
	end := time.Now().Add(10 * time.Second)
	var workers, watcher sync.WaitGroup
	worker := func(work func(r *rand.Rand)) {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		workers.Go(func() { work(own) })
	}
	for i := range 2 {
		s := w.redis.client(fmt.Sprint(i))
		s.rtt = time.Duration(100+r.IntN(900)) * time.Microsecond
		h := start(w.t, s, nil)
		for range 1 + r.IntN(2*len(w.names)) {
			worker(func(r *rand.Rand) { w.local(r, s, h, end) })
		}
	}
	for range 1 + r.IntN(len(w.names)) {
		worker(func(r *rand.Rand) { w.stranger(r, end) })
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	watcher.Go(func() { w.watch(ctx) })
	workers.Wait()
	cancel()
	watcher.Wait()
}

// TestRandomFaults is about the waiters of a hub whose connections break, lose signals, miss
// wake-ups and meet bad keys: nobody waits on a free lock for longer than a second and a bit.
func TestRandomFaults(t *testing.T) {
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		bubbleRun(t, fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			w := newWorld(t, r, 1300*ms)
			w.runWithFaults(r, seed)
		})
	}
}

func (w *world) runWithFaults(r *rand.Rand, seed uint64) {
	end := time.Now().Add(20 * time.Second)
	s := w.redis.client("0")
	h := start(w.t, s, nil)
	var workers, others sync.WaitGroup
	for range 1 + r.IntN(3*len(w.names)) {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		workers.Go(func() { w.patient(own, s, h, end) })
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	others.Go(func() { w.watch(ctx) })
	others.Go(func() { w.nemesis(ctx, r, s) })
	workers.Wait()
	cancel()
	others.Wait()
}

// patient takes locks and gives up only now and then. Some locks vanish without a signal.
func (w *world) patient(r *rand.Rand, s *store, h *signal.Hub, end time.Time) {
	for time.Now().Before(end) {
		name := w.names[r.IntN(len(w.names))]
		patience := 30 * time.Second
		if r.IntN(3) == 0 {
			patience = time.Duration(r.IntN(100)) * ms
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		id := w.begins(name)
		got := w.lock(ctx, s, h, name)
		w.ends(name, id)
		cancel()
		switch {
		case got && r.IntN(10) == 0:
			w.redis.vanish(name)
		case got:
			w.work(r, name)
		}
	}
}

// nemesis lets things go wrong, one after the other.
func (w *world) nemesis(ctx context.Context, r *rand.Rand, s *store) {
	defer s.failing(nil)
	for ctx.Err() == nil {
		time.Sleep(time.Duration(r.IntN(1000)) * ms)
		switch r.IntN(6) {
		case 0:
			s.breakAll()
		case 1:
			s.loseSignals(true)
		case 2:
			s.setDeaf(true)
		case 3:
			s.failing(fails(errBroken, "connect"))
			s.breakAll()
		case 4:
			s.failing(badName("bad", errPermanent, "look", "block", "probe"))
		case 5:
			s.failing(fails(errPermanent, "block"))
		}
		time.Sleep(time.Duration(r.IntN(300)) * ms)
		s.failing(nil)
		s.loseSignals(false)
		s.setDeaf(false)
	}
}
