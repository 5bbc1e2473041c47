package lock

import "sync"

// Stats say what a client does at one moment, and what it has done since it was opened. They are a
// value: nothing changes in them any more. Print them, or publish them:
//
//	expvar.Publish("locks", expvar.Func(func() any { return c.Stats() }))
type Stats struct {
	Waiting     int   // calls of Lock that wait
	Held        int   // leases that are held
	Acquired    int64 // leases that began, by Lock, TryLock or Adopt
	Renewals    int64 // renewals that Redis confirmed
	Retries     int64 // what was or will be sent again: acquires, renewals and others that failed
	Lost        int64 // leases that ended otherwise than by Unlock or Detach
	Handovers   int64 // calls of Lock that got the lock after they had waited
	Connections int   // to Redis, that are open
}

// Stats returns a snapshot: all of it is of one moment, save Connections, which are counted apart. The
// loss of a lease is counted right after its Done was closed. It does no I/O and is cheap. After Close it
// tells how things ended.
func (c *Client) Stats() Stats {
	if c.missing() {
		panic(errNoClient)
	}
	s := c.stats.snapshot()
	s.Connections = c.store.source.Links()
	return s
}

// counters are the stats in the making.
type counters struct {
	mu  sync.Mutex // guards the field below
	now Stats
}

func (c *counters) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// wait counts a call of Lock that is about to wait. It returns false if most wait already; 0 is no
// limit.
func (c *counters) wait(most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if most > 0 && c.now.Waiting >= most {
		return false
	}
	c.now.Waiting++
	return true
}

// waited counts the end of a wait.
func (c *counters) waited(acquired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Waiting--
	if acquired {
		c.now.Handovers++
	}
}

// acquired counts a lease that begins. It is called before the lease can end.
func (c *counters) acquired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held++
	c.now.Acquired++
}

// notAcquired takes acquired back: there is no lease after all.
func (c *counters) notAcquired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held--
	c.now.Acquired--
}

// ended counts the end of a lease.
func (c *counters) ended(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held--
	if lost {
		c.now.Lost++
	}
}

// lost counts a lease that turned out lost after it had ended otherwise.
func (c *counters) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Lost++
}

func (c *counters) renewed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Renewals++
}

func (c *counters) retried() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Retries++
}
