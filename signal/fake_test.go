package signal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
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

// plain is a name of the plain kind.
func plain(name string) signal.Name { return signal.Name{Name: name} }

// text is what a name is called here: one of the plain kind by its name alone.
func text(n signal.Name) string {
	if n.Kind == "" {
		return n.Name
	}
	return n.Kind + "/" + n.Name
}

func texts(names []signal.Name) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = text(n)
	}
	return all
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
	hashes map[int]map[string]int // the registers of who waits, by connection
	wrote  map[int]time.Time      // when they were last written
	dials  int                    // dials that were not hung up
	given  []string               // names given back
	pushed int                    // how many of them were
	lose   bool                   // the next signals that are read get lost with their connections
	deaf   bool                   // wake-ups get lost
	slow   time.Duration          // what giving back takes beyond the latency
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
		hashes: make(map[int]map[string]int),
		wrote:  make(map[int]time.Time),
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

// register returns who waits as an operator sees it: registers expire after 5 s, and the highest
// count of a name is taken.
func (s *store) register() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]int)
	for k, hash := range s.hashes {
		if time.Since(s.wrote[k]) > 5*time.Second {
			continue
		}
		for name, n := range hash {
			seen[name] = max(seen[name], n)
		}
	}
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

// A fakeDialer makes connection k.
type fakeDialer struct {
	*store
	number int
}

func (s *store) Dialer(k int) signal.Dialer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials++
	return fakeDialer{s, k}
}

func (d fakeDialer) Dial() (signal.Conn, error) {
	err := d.count("connect")
	time.Sleep(d.rtt)
	if err != nil {
		return nil, err
	}
	c := &fakeConn{store: d.store, number: d.number, closed: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[c] = true
	d.most = max(d.most, len(d.open))
	return c, nil
}

func (d fakeDialer) Hangup() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dials--
}

func (s *store) Look(ctx context.Context, k int, l signal.Look) ([]signal.Left, error) {
	err := s.count("look", texts(l.Names)...)
	if errors.Is(err, errHang) {
		s.travel(ctx, 2*time.Second) // the operation limit
		return nil, errBroken
	}
	if err := errors.Join(err, s.travel(ctx, s.rtt/2)); err != nil {
		return nil, err
	}
	left := make([]signal.Left, len(l.Names))
	for i, name := range l.Names {
		left[i] = s.left(text(name))
	}
	s.enter(k, l)
	return left, s.travel(ctx, s.rtt-s.rtt/2)
}

func (s *store) travel(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter writes the register.
func (s *store) enter(k int, l signal.Look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, l)
	if l.Waiters == nil {
		return
	}
	s.hashes[k], s.wrote[k] = make(map[string]int), time.Now()
	for i, name := range l.Names {
		s.hashes[k][text(name)] = l.Waiters[i]
	}
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

func (s *store) GiveBack(n signal.Name) error {
	name := text(n)
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

func (s *store) Group(n signal.Name) string { return s.group(text(n)) }

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
func (s *store) ask(name string, ttl time.Duration) (got bool, left signal.Left) {
	time.Sleep(s.rtt / 2)
	got, left = s.acquire(name, ttl)
	time.Sleep(s.rtt - s.rtt/2)
	return got, left
}
