package chaos

import (
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// A seat is a client's, which is closed and opened anew now and then.
type seat struct {
	index int
	proxy *faultproxy.Proxy
	url   string

	mu     sync.Mutex // guards the field below
	client *lock.Client
}

// open opens a client for a seat.
func (r *run) open(s *seat) *lock.Client {
	c, err := lock.Open(s.url, &lock.Options{TTL: r.cfg.TTL, Label: fmt.Sprintf("chaos-%d", s.index)})
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

// reopen closes the client, while others may use it, and puts a new one in its place.
func (s *seat) reopen(r *run) {
	next := r.open(s)
	s.mu.Lock()
	old := s.client
	s.client = next
	s.mu.Unlock()
	r.closed(old)
}

// closed closes a client, which must not take longer than it says.
func (r *run) closed(c *lock.Client) {
	began := r.now()
	_ = c.Close() // always nil
	longest := operationLimit + r.margin() + slack
	if took := r.now() - began; took > longest {
		r.seen("Close took %v", took)
	}
}

// margin is the longest margin that a lease can have: programs extend by up to three TTLs.
func (r *run) margin() time.Duration { return max(5*r.cfg.TTL/20, 10*time.Millisecond) }
