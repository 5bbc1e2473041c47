package signal_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

var (
	errBroken    = errors.New("connection reset")
	errPermanent = errors.New("WRONGTYPE")
	errNoBlock   = errors.New("unknown command BLPOP")
	errHang      = errors.New("hangs until it is closed")
)

// The store of these tests. It is used in synctest bubbles, where its round trips cost no time.

// A redis is the part of Redis that locks live in: strings with a TTL that say who holds a lock,
// lists with at most one element that wake those who wait, first come, first served.
type redis struct {
	mu      sync.Mutex           // guards the fields below
	held    map[string]time.Time // until when; zero: for ever
	foreign map[string]bool
	lists   map[string]time.Time // lists of one element, and when they expire
	blocked []*read
	freed   map[string]time.Time // when a lock was last released
}

// A read is one BLPOP that blocks.
type read struct {
	keys   []string
	popped chan string
}

func newRedis() *redis {
	return &redis{
		held:    make(map[string]time.Time),
		foreign: make(map[string]bool),
		lists:   make(map[string]time.Time),
		freed:   make(map[string]time.Time),
	}
}

func signalOf(name string) string { return "lock-signal:" + name }

// hold lets somebody else have the lock; a negative ttl is for ever.
func (r *redis) hold(name string, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[name] = time.Time{}
	if ttl >= 0 {
		r.held[name] = time.Now().Add(ttl)
	}
}

// left is what PTTL answers, as signal has it.
func (r *redis) left(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leftLocked(name)
}

func (r *redis) leftLocked(name string) time.Duration {
	until, held := r.held[name]
	switch left := time.Until(until); {
	case r.foreign[name]:
		return signal.Foreign
	case !held:
		return signal.Free
	case until.IsZero():
		return signal.Forever
	case left <= 0:
		return signal.Free
	default:
		return left.Truncate(time.Millisecond)
	}
}

// acquire is the acquire script.
func (r *redis) acquire(name string, ttl time.Duration) (got bool, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.leftLocked(name); left != signal.Free {
		return false, left
	}
	r.held[name] = time.Time{}
	if ttl >= 0 {
		r.held[name] = time.Now().Add(ttl)
	}
	delete(r.freed, name)
	return true, 0
}

// vanish is DEL, or an expiry that nobody had seen coming: no signal.
func (r *redis) vanish(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
	r.freed[name] = time.Now()
}

// release is the release script.
func (r *redis) release(name string) {
	r.vanish(name)
	r.push(signalOf(name), time.Second)
}

// repair is the repair script. It reports whether it pushed.
func (r *redis) repair(name string) bool {
	r.mu.Lock()
	free := r.leftLocked(name) == signal.Free && !r.fullLocked(signalOf(name))
	r.mu.Unlock()
	if free {
		r.push(signalOf(name), time.Second)
	}
	return free
}

func (r *redis) fullLocked(key string) bool {
	until, ok := r.lists[key]
	return ok && time.Now().Before(until)
}

// push wakes the first who reads from the key; without one the element stays there for ttl.
func (r *redis) push(key string, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.blocked {
		if slices.Contains(b.keys, key) {
			r.blocked = slices.Delete(r.blocked, i, i+1)
			b.popped <- key // has room: it is in blocked once
			return
		}
	}
	r.lists[key] = time.Now().Add(ttl)
}

// pending reports whether a signal for the name lies there unread.
func (r *redis) pending(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fullLocked(signalOf(name))
}

func (r *redis) begin(keys []string) *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &read{keys, make(chan string, 1)}
	for _, key := range keys {
		if r.fullLocked(key) {
			delete(r.lists, key)
			b.popped <- key
			return b
		}
	}
	r.blocked = append(r.blocked, b)
	return b
}

// end ends a read; it returns the key if an element was read all the same.
func (r *redis) end(b *read) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.blocked, b); i >= 0 {
		r.blocked = slices.Delete(r.blocked, i, i+1)
		return ""
	}
	select {
	case key := <-b.popped:
		return key
	default:
		return ""
	}
}

// readers returns which names are read by how many.
func (r *redis) readers() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := make(map[string]int)
	for _, b := range r.blocked {
		for _, key := range b.keys {
			n[key]++
		}
	}
	return n
}

// A store is a redis as one hub sees it: with latency, with faults, and counted.
type store struct {
	*redis
	client string
	rtt    time.Duration
	group  func(name string) string

	mu     sync.Mutex // guards the fields below
	fault  func(op string, names []string) error
	counts map[string]int // operations by kind
	open   map[*fakeConn]bool
	most   int // most connections open at once
	looks  []signal.Look
	hash   map[string]int // the register of who waits
	given  []string       // names given back
	pushed int            // how many of them were
	lose   bool           // the next signals that are read get lost with their connections
	deaf   bool           // wake-ups get lost
	slow   time.Duration  // what giving back takes beyond the latency
}

func newStore() *store { return newRedis().client("a") }

// client returns a store for one more hub on the same redis.
func (r *redis) client(name string) *store {
	return &store{
		redis:  r,
		client: name,
		rtt:    time.Millisecond,
		group:  func(string) string { return "" },
		fault:  func(string, []string) error { return nil },
		counts: make(map[string]int),
		open:   make(map[*fakeConn]bool),
		hash:   make(map[string]int),
	}
}

// count counts an operation and returns its fault.
func (s *store) count(op string, names ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[op]++
	return s.fault(op, names)
}

// failing sets the fault of the operations; nil is none.
func (s *store) failing(fault func(op string, names []string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault == nil {
		fault = func(string, []string) error { return nil }
	}
	s.fault = fault
}

// did returns how many operations of these kinds there were, of all kinds if none is named.
func (s *store) did(ops ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for op, count := range s.counts {
		if len(ops) == 0 || slices.Contains(ops, op) {
			n += count
		}
	}
	return n
}

func (s *store) connections() (open, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), s.most
}

func (s *store) gaveBack() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.given)
}

// register returns who waits as an operator sees it.
func (s *store) register() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := maps.Clone(s.hash)
	maps.DeleteFunc(seen, func(_ string, n int) bool { return n == 0 })
	return seen
}

func (s *store) lastLooks() []signal.Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	looks := s.looks
	s.looks = nil
	return looks
}

// loseSignals breaks the connections that read a signal, before it reaches them.
func (s *store) loseSignals(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = lose
}

func (s *store) losing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lose
}

func (s *store) setDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// breakAll breaks all connections.
func (s *store) breakAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

func (s *store) giveTakes(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = d
}

func (s *store) inbox(k int) string { return fmt.Sprintf("lock-inbox:%s:%d", s.client, k) }

func (s *store) Connect(k int) (signal.Conn, error) {
	err := s.count("connect")
	time.Sleep(s.rtt)
	if err != nil {
		return nil, err
	}
	c := &fakeConn{store: s, number: k, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
	s.most = max(s.most, len(s.open))
	return c, nil
}

func (s *store) Wake(k int) {
	_ = s.count("wake")
	s.mu.Lock()
	deaf := s.deaf
	s.mu.Unlock()
	if !deaf {
		s.push(s.inbox(k), 5*time.Second)
	}
}

func (s *store) GiveBack(name string) error {
	err := s.count("give", name)
	s.mu.Lock()
	takes := s.rtt + s.slow
	s.mu.Unlock()
	time.Sleep(takes)
	if err != nil {
		return err
	}
	pushed := s.repair(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = append(s.given, name)
	if pushed {
		s.pushed++
	}
	return nil
}

func (s *store) Group(name string) string { return s.group(name) }

func (s *store) Judge(err error) signal.Verdict {
	switch {
	case errors.Is(err, errPermanent):
		return signal.Permanent
	case errors.Is(err, errNoBlock):
		return signal.NoBlock
	}
	return signal.Passes
}

// ask is an acquire with the latency of the network.
func (s *store) ask(name string, ttl time.Duration) (got bool, left time.Duration) {
	time.Sleep(s.rtt / 2)
	got, left = s.acquire(name, ttl)
	time.Sleep(s.rtt - s.rtt/2)
	return got, left
}

// A fakeConn is one connection of a store.
type fakeConn struct {
	*store
	number int
	once   sync.Once
	closed chan struct{}
}

// travel is half a round trip, for what was asked or for the answer.
func (c *fakeConn) travel() error {
	select {
	case <-time.After(c.rtt / 2):
		select {
		case <-c.closed:
			return errBroken
		default:
			return nil
		}
	case <-c.closed:
		return errBroken
	}
}

// begin counts an operation and sends it.
func (c *fakeConn) begin(op string, names ...string) error {
	err := c.count(op, names...)
	if errors.Is(err, errHang) {
		<-c.closed
		return errBroken
	}
	return errors.Join(err, c.travel())
}

func (c *fakeConn) Look(l signal.Look) ([]time.Duration, error) {
	if err := c.begin("look", l.Names...); err != nil {
		return nil, err
	}
	left := make([]time.Duration, len(l.Names))
	for i, name := range l.Names {
		left[i] = c.left(name)
	}
	c.enter(l)
	return left, c.travel()
}

// enter writes the register.
func (c *fakeConn) enter(l signal.Look) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.looks = append(c.looks, l)
	if l.Waiters == nil {
		return
	}
	if l.Anew {
		clear(c.hash)
	}
	for i, name := range l.Names {
		c.hash[name] = l.Waiters[i]
	}
	for _, name := range l.Gone {
		c.hash[name] = 0
	}
}

func (c *fakeConn) Block(names []string, d time.Duration) (string, error) {
	if err := c.begin("block", names...); err != nil {
		return "", err
	}
	keys := []string{c.inbox(c.number)}
	back := make(map[string]string)
	for _, name := range names {
		keys = append(keys, signalOf(name))
		back[signalOf(name)] = name
	}
	b := c.redis.begin(keys)
	name := ""
	select {
	case key := <-b.popped:
		name = back[key]
	case <-time.After(d):
		name = back[c.end(b)]
	case <-c.closed:
		c.end(b)
		return "", errBroken
	}
	if name != "" && c.losing() {
		c.Close()
	}
	return name, c.travel()
}

func (c *fakeConn) Probe(name string) (bool, error) {
	if err := c.begin("probe", name); err != nil {
		return false, err
	}
	b := c.redis.begin([]string{signalOf(name)})
	got := c.end(b) != ""
	return got, c.travel()
}

func (c *fakeConn) Close() {
	c.once.Do(func() {
		close(c.closed)
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		delete(c.open, c)
	})
}

// start returns a hub on the store that is closed, and checked, at the end of the test.
func start(t *testing.T, s *store, o *signal.Options) *signal.Hub {
	t.Helper()
	h := signal.New(s, o)
	t.Cleanup(func() {
		h.Close(5 * time.Second)
		if open, _ := s.connections(); open != 0 {
			t.Errorf("%d connections are open after Close", open)
		}
	})
	return h
}

// join joins a queue.
func join(t *testing.T, h *signal.Hub, name string, left time.Duration) *signal.Waiter {
	t.Helper()
	w, err := h.Join(name, left)
	if err != nil {
		t.Fatalf("Join(%q): %v", name, err)
	}
	return w
}
