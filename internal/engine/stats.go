package engine

import "sync"

// Stats say what an engine does at one moment, and what it has done. lock.Stats documents the
// fields.
type Stats struct {
	Waiting     int
	Held        int
	Acquired    int64
	Renewals    int64
	Retries     int64
	Lost        int64
	Handovers   int64
	Connections int
}

// counters are the stats in the making. One mutex guards all, so that a snapshot is of one moment:
// atomics would let it show a lease that was acquired and is not held, say.
type counters struct {
	mu  sync.Mutex // guards the field below
	now Stats
}

// snapshot returns the stats of this moment.
func (c *counters) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// countWait counts a call of Lock that is about to wait. It returns false if most wait already; 0 is no
// limit.
func (c *counters) countWait(most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if most > 0 && c.now.Waiting >= most {
		return false
	}
	c.now.Waiting++
	return true
}

// countWaited counts the end of a wait.
func (c *counters) countWaited(acquired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Waiting--
	if acquired {
		c.now.Handovers++
	}
}

// countLease counts a lease that begins. It is called before the lease can end.
func (c *counters) countLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held++
	c.now.Acquired++
}

// countNoLease takes countLease back: there is no lease after all.
func (c *counters) countNoLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held--
	c.now.Acquired--
}

// countEnd counts the end of a lease.
func (c *counters) countEnd(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Held--
	if lost {
		c.now.Lost++
	}
}

// countLoss counts a lease that turned out lost after it had ended otherwise.
func (c *counters) countLoss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Lost++
}

// countRenewal counts a renewal that Redis confirmed.
func (c *counters) countRenewal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Renewals++
}

// countRetry counts what is sent again, or will be.
func (c *counters) countRetry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Retries++
}
