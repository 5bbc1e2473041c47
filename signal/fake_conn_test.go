package signal_test

import (
	"errors"
	"sync"
	"time"
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

func (c *fakeConn) Block(names []string, d time.Duration) ([]string, error) {
	if err := c.begin("block", names...); err != nil {
		return nil, err
	}
	keys := []string{c.inbox(c.number)}
	back := make(map[string]string)
	for _, name := range names {
		keys = append(keys, signalOf(name))
		back[signalOf(name)] = name
	}
	b := c.redis.begin(keys)
	var popped []string
	select {
	case key := <-b.popped:
		popped = append(popped, key)
	case <-time.After(d):
		popped = append(popped, c.end(b))
	case <-c.closed:
		c.end(b)
		return nil, errBroken
	}
	popped = append(popped, c.takeAll(keys[1:])...)
	var signalled []string
	for _, key := range popped {
		if name := back[key]; name != "" {
			signalled = append(signalled, name)
		}
	}
	if len(signalled) > 0 && c.losing() {
		c.Close()
	}
	return signalled, c.travel()
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
