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

func (c *fakeConn) Block(names []signal.Name, d time.Duration) ([]signal.Name, error) {
	if err := c.begin("block", texts(names)...); err != nil {
		return nil, err
	}
	keys := []string{c.inbox(c.number)}
	back := make(map[string]signal.Name)
	for _, name := range names {
		key := signalOf(text(name))
		keys = append(keys, key)
		back[key] = name
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
	var signalled []signal.Name
	for _, key := range popped {
		if name, ok := back[key]; ok {
			signalled = append(signalled, name)
		}
	}
	if len(signalled) > 0 && c.losing() {
		c.Close()
	}
	return signalled, c.travel()
}

func (c *fakeConn) Probe(n signal.Name) (bool, error) {
	name := text(n)
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
