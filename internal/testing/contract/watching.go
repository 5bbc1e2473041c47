package contract

import (
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// watching is what a client tells of itself and of its server.
var watching = []check{
	{name: "stats", run: stats},
	{name: "check", run: checkServer},
}

// queued waits until so many calls wait for locks in a client.
func (e *env) queued(c *lock.Client, n int) {
	e.Helper()
	redistest.Until(e, "they wait", func() bool { return c.Stats().Waiting == n })
}

func stats(e *env) {
	name := e.name("job")
	c := e.client(&lock.Options{TTL: short})
	if s := c.Stats(); s != (lock.Stats{}) {
		e.Errorf("a new client: %+v", s)
	}
	before := e.take(e.client(nil).Mutex(name))
	done := make(chan got, 1)
	go func() {
		lease, err := c.Mutex(name).Lock(e.soon())
		done <- got{lease, err}
	}()
	e.queued(c, 1)
	e.release(before)
	lease := e.leased(done)
	redistest.Until(e, "it is renewed", func() bool {
		return c.Stats().Renewals > 0 || lease.Err() != nil
	})
	s := c.Stats()
	if s.Waiting != 0 || s.Held != 1 || s.Acquired != 1 || s.Handovers != 1 || s.Lost != 0 ||
		s.Connections < 2 || s.Connections > 3 {
		e.Errorf("holding: %+v", s)
	}
	e.release(lease)
	lease = e.take(c.Mutex(name))
	e.do("DEL", "lock:"+name)
	await(e, "the end", lease.Done())
	_ = lease.Unlock(e.soon())
	redistest.Until(e, "the loss is counted", func() bool { return c.Stats().Lost > 0 })
	if s := c.Stats(); s.Held != 0 || s.Acquired != 2 || s.Lost != 1 {
		e.Errorf("after a loss: %+v", s)
	}
	_ = c.Close()
	if s := c.Stats(); s.Connections != 0 || s.Held != 0 || s.Waiting != 0 {
		e.Errorf("after Close: %+v", s)
	}
}

// Check tells of every server, and what it cannot find out is no error.
func checkServer(e *env) {
	findings, err := e.client(nil).Check(e.soon())
	if err != nil || len(findings) == 0 {
		e.Errorf("Check: %v, %v", findings, err)
	}
}
