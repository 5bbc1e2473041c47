package chaos

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// A seat is a client's, which is closed and opened anew now and then.
type seat struct {
	index int
	proxy *faultproxy.Proxy
	url   string

	// No fault is for this client alone: neither the nemesis nor the operator of Redis picks it out. It
	// stays for the whole run.
	unharmed bool

	dropped, leaked atomic.Int64 // leases, and of them those that a hook told of

	mu     sync.Mutex // guards the fields below
	client *lock.Client
	shared *pool.Pool // as the client sees it, for all its workers
}

// unharmedLabel begins the labels of clients that are not harmed.
const unharmedLabel = "chaos-unharmed-"

// open opens a client for a seat.
func (r *run) open(s *seat) *lock.Client {
	label := "chaos-"
	if s.unharmed {
		label = unharmedLabel
	}
	c, err := lock.Open(s.url, &lock.Options{
		TTL: r.cfg.TTL, Label: label + strconv.Itoa(s.index),
		Hooks: lock.Hooks{Leaked: func(lock.Event) { s.leaked.Add(1) }},
	})
	if err != nil {
		panic(err) // the URL is ours
	}
	return c
}

func (s *seat) current() *lock.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// pool returns the pool as this client's workers share it, which remembers its members for a while; or one
// of its own if the client was replaced.
func (s *seat) pool(c *lock.Client) *pool.Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		return s.shared
	}
	return pool.New(c, poolOf, nil)
}

// reopen closes the client, while others may use it, and puts a new one in its place. The first seat's
// stays for the whole run, so that it shows what piles up.
func (s *seat) reopen(r *run) {
	if s.index == 0 || s.unharmed {
		return
	}
	next := r.open(s)
	s.mu.Lock()
	old := s.client
	s.client, s.shared = next, pool.New(next, poolOf, nil)
	s.mu.Unlock()
	r.closed(old)
}

// closed closes a client, which must not take longer than it says.
func (r *run) closed(c *lock.Client) {
	began := r.now()
	_ = c.Close() // always nil
	longest := operationLimit + r.margin() + slack
	if took := r.took(began); took > longest {
		r.seen("Close took %v", took)
	}
}

// margin is the longest margin that a lease can have: programs extend by up to three TTLs, and a lock
// without expiry is taken for half a minute first.
func (r *run) margin() time.Duration { return max(5*r.cfg.TTL/20, 30*time.Second/20) }
