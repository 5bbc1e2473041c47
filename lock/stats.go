package lock

import "github.com/holdfast-go/holdfast/internal/engine"

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

// Stats returns a snapshot. All of it is of one moment, save Connections, which are counted apart.
// The loss of a lease is counted right after its Done was closed. Stats does no input or output and
// is cheap. After Close it tells how things ended.
func (c *Client) Stats() Stats {
	if c.missing() {
		panic(engine.ErrNoClient)
	}
	return Stats(c.engine.Stats())
}
