package signal_test

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

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
