package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// A world is a program under way: the store, the clients, the way between them, and what happened.
type world struct {
	plan    *plan
	redis   *miniredis.Miniredis
	began   time.Time
	clients []*client

	clockMu sync.Mutex // guards the next two; the store's own mutex may be taken under it
	skew    time.Duration
	skewed  bool

	verbose bool       // there is a trace
	traceMu sync.Mutex // guards the next one; may be taken under every other mutex
	trace   []entry

	mu         sync.Mutex // guards the fields below
	conns      map[*conn]bool
	cuts       []incident   // a copy of the plan's, whose bytes are counted down
	jitter     []*rand.Rand // of each client's latencies
	seq        int64
	violations []string
	beliefs    []*belief
	takeovers  []*takeover
	waits      map[*waiting]bool
	releases   map[string]time.Duration // when a place was last released by Unlock
	grants     map[string]int
	detached   map[string][]string      // ids by lock, to be adopted
	shared     map[string]bool          // ids under which several leases may be held
	stays      map[string]bool          // locks that may stay for ever
	unlocked   map[string]bool          // ids of which no renewal may be written
	abandoned  map[string]orphan        // acquires that failed, by their labels
	held       map[string]bool          // ids under which locks may be held, as far as their users know
	ghosts     map[string]time.Duration // other ids by when they were first seen at a lock
	blocks     map[string]int           // calls of Block that may hold a lock's key
	sessions   sessions
	dialling   map[int]time.Duration // until when a client may wait for a dial whose greeting is lost
}

// A client is a lock.Client and how it stands.
type client struct {
	*lock.Client
	index int
	pool  *pool.Pool
}

// An entry is a line of the trace, put into words when it is needed.
type entry struct {
	at     time.Duration
	format string
	args   []any
}

func (w *world) elapsed() time.Duration { return time.Since(w.began) }

func (w *world) note(format string, args ...any) {
	if !w.verbose {
		return
	}
	w.traceMu.Lock()
	defer w.traceMu.Unlock()
	w.trace = append(w.trace, entry{w.elapsed(), format, args})
}

func (w *world) violation(format string, args ...any) {
	text := fmt.Sprintf("%v: ", w.elapsed()) + fmt.Sprintf(format, args...)
	w.note("VIOLATION %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, text)
}

// A stamp is an instant: virtual time, and the order of what happened at the same one.
type stamp struct {
	at  time.Duration
	seq int64
}

func (w *world) now() stamp {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	return stamp{w.elapsed(), w.seq}
}

// An outcome is what a program came to.
type outcome struct {
	violations []string
	trace      []entry
	acquired   int
	virtual    time.Duration
}

// simulate runs a program. It must be called in a bubble.
func simulate(p *plan) outcome {
	w := newWorld(p)
	var actors sync.WaitGroup
	for i, c := range p.clients {
		for n, turns := range c.actors {
			a := &actor{world: w, client: w.clients[i], name: fmt.Sprintf("c%da%d", i, n)}
			actors.Go(func() { a.run(turns) })
		}
		if c.close != 0 {
			actors.Go(func() {
				time.Sleep(c.close) // in the bubble
				w.close(w.clients[i], true)
			})
		}
	}
	actors.Go(w.incidents)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		w.watchWaits(stop)
	}()
	actors.Wait()
	time.Sleep(max(w.plan.end-w.elapsed(), 0) + 8*time.Second) // in the bubble: accidents are over
	w.awaitDials()
	close(stop)
	<-done
	w.lookAtTheEnd()
	w.finish()
	o := outcome{w.violations, w.trace, len(w.beliefs), w.elapsed()}
	w.beliefs = nil // a hook refers to the world: it must not keep leases whose cleanup keeps the hook
	return o
}

func newWorld(p *plan) *world {
	w := &world{
		plan: p, redis: inmemory.Miniredis(), began: time.Now(), verbose: testing.Verbose(),
		cuts: slices.Clone(p.incidents), conns: make(map[*conn]bool), waits: make(map[*waiting]bool),
		releases: make(map[string]time.Duration), grants: make(map[string]int),
		detached: make(map[string][]string), stays: make(map[string]bool),
		shared:   make(map[string]bool),
		unlocked: make(map[string]bool), abandoned: make(map[string]orphan),
		held: make(map[string]bool), ghosts: make(map[string]time.Duration), blocks: make(map[string]int),
		sessions: newSessions(), dialling: make(map[int]time.Duration),
	}
	w.command("PING") // this starts its server
	w.command("ZADD", "lock-pool:{p}", 1, "m1", 2, "m2")
	w.redis.Server().SetPreHook(func(peer *server.Peer, cmd string, args ...string) bool {
		if cmd != hello {
			w.note("  store: %s %s", cmd, words(args))
		}
		return w.session(peer, cmd, args)
	})
	for i, c := range p.clients {
		w.jitter = append(w.jitter, rand.New(rand.NewPCG(p.seed, uint64(i)+1)))
		w.clients = append(w.clients, w.open(i, c))
	}
	for i := range p.windows {
		w.note("planned: %v of client %d, %v to %v, late %v", p.windows[i].what, p.windows[i].client,
			p.windows[i].from, p.windows[i].to, p.windows[i].late)
	}
	return w
}

// words shows a command's arguments when the trace is printed.
type words []string

func (a words) String() string {
	text := strings.Join(a, " ")
	if _, keys, ok := strings.Cut(text, "\n"); ok { // a script's text
		text = "… " + keys[strings.LastIndex(keys, "\n")+1:]
	}
	return text
}

func (w *world) open(i int, plan clientPlan) *client {
	dial := func(ctx context.Context) (redis.Conn, error) { return w.dial(ctx, i) }
	l, err := lock.New(&redis.Pool{DialContext: dial}, &lock.Options{
		Label: fmt.Sprintf("c%d", i), KeepOnClose: plan.keep, Hooks: lock.Hooks{
			Lost: func(e lock.Event) { w.note("hook: client %d lost %s: %v", i, e.Name, e.Err) },
		},
	})
	if err != nil {
		panic(err)
	}
	c := &client{Client: l, index: i}
	c.pool = pool.New(l, "p", nil)
	return c
}

// close closes a client, and checks how long that takes.
func (w *world) close(c *client, early bool) {
	w.mu.Lock()
	margin := time.Duration(0)
	for _, b := range w.beliefs {
		if b.client == c.index && !b.ended() {
			margin = max(margin, b.margin())
		}
		if b.client == c.index && early && b.opts.TTL == lock.NoExpiry {
			w.stays[b.name] = true // Redis may be out of reach right now
		}
	}
	w.mu.Unlock()
	began := w.elapsed()
	w.note("client %d: Close", c.index)
	_ = c.Close() // always nil
	w.mu.Lock()
	for _, b := range w.beliefs { // also those that began at the same instant
		if b.client == c.index && b.begin.at == began {
			margin = max(margin, b.margin())
		}
	}
	w.mu.Unlock()
	w.within("Close", began, margin+opLimit+time.Millisecond)
}

// mayStay takes note of a lock that may be left for ever.
func (w *world) mayStay(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stays[name] = true
}

const opLimit = 2 * time.Second

// within checks that something that began then has not taken longer than its limit.
func (w *world) within(what string, began, limit time.Duration) {
	if took := w.elapsed() - began; took > limit {
		w.violation("%s took %v, want at most %v", what, took, limit)
	}
}

// finish ends what is left, and judges.
func (w *world) finish() {
	var all sync.WaitGroup
	for _, c := range w.clients {
		all.Go(func() { w.close(c, false) })
	}
	all.Wait()
	time.Sleep(9 * 24 * time.Hour) // also the fencing tokens' time is up, and so is what is on its way
	w.setClock()
	for _, key := range w.redis.Keys() {
		name := strings.TrimPrefix(key, "lock:")
		if value, _ := w.redis.Get(key); key != "lock-pool:{p}" && !w.stays[name] {
			w.violation("the key %q is left: %q", key, value)
		}
	}
	w.redis.Close()
	w.cutAll(everybody)
	w.judge()
}
