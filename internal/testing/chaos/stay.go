package chaos

import (
	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
)

// left takes note of a lock without expiry that was released, or lost: its client must not leave it held
// for ever.
func (b *belief) left() {
	if b.rec.Name == stay {
		b.w.run.record(func(*History) { b.w.run.stays[b.lease.ID()] = b.client })
	}
}

// stayed looks, when all have given up their locks and nothing keeps the clients from Redis, whether the
// lock without expiry stays held by one that ended. Then it is taken away: what was detached, or whose
// client was closed while it was cut off, stays by right.
func (r *run) stayed() {
	free := r.until(2*operationLimit+slack, func() bool {
		client := r.stays[r.holder(stay)]
		return client == nil || !r.current(client) || r.expires(stay)
	})
	if !free {
		r.seen("%s stays held for ever, and its client lives", stay)
	}
	clear(r.stays)
	_, _ = r.command("DEL", "lock:"+stay)
}

// current reports whether a client was not closed since.
func (r *run) current(c *lock.Client) bool {
	for _, s := range r.seats {
		if s.current() == c {
			return true
		}
	}
	return false
}

// expires reports whether a lock has a TTL.
func (r *run) expires(name string) bool {
	pttl, err := redis.Int(r.command("PTTL", "lock:"+name))
	return err == nil && pttl >= 0
}
