package redisconn

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A Link is one connection that its owner uses alone: one exchange at a time. Only Close may be
// called beside an exchange. After an error that is not a reply of Redis the link is dead.
type Link struct {
	ground // that conn stands on
	entry  // what the source's orphans know of it

	conn     guarded
	fuse     *fuse         // closes conn when an exchange takes too long
	pace     *pace         // of the dials of its kind, which learn from its exchanges
	greeted  time.Duration // how long the greeting took
	inFlight atomic.Bool   // from before something is written until all of it is answered
	once     sync.Once     // closes conn
	lost     func(*Link)   // called once, when conn is closed and before Close returns
}

func newLink(conn redis.Conn, p *pace, lost func(*Link)) *Link {
	k := &Link{conn: guarded{conn}, pace: p, lost: lost}
	k.fuse = newFuse(k.Close)
	return k
}

// Greeted returns how long the greeting took: a round trip, and what came in its way.
func (k *Link) Greeted() time.Duration { return k.greeted }

// Close ends the connection, and with it an exchange under way. It may be called at any time and
// repeatedly. When Close returns, the source knows whether something was under way. inFlight is
// looked at when the connection is closed: nothing is written any more that it does not tell.
func (k *Link) Close() {
	k.once.Do(func() {
		if w := k.wire.Load(); w != nil && k.inFlight.Load() {
			w.Reset() // what was given up is not to arrive later
		}
		_ = k.conn.close()
		k.lost(k)
	})
}

// begin begins an exchange, which must have ended at the deadline.
func (k *Link) begin(deadline time.Time) {
	k.fuse.arm(deadline)
	k.inFlight.Store(true)
}

// send puts the commands into the buffer, which is written when it is full, or flushed.
func (k *Link) send(cmds []Command) error {
	for i := range cmds {
		if err := k.conn.send(cmds[i].Name, cmds[i].Args); err != nil {
			return err
		}
	}
	return nil
}

// end ends an exchange and returns its error, which is never nil when the fuse has blown. owed says
// that not all of it was answered. With an error the link is closed when end returns.
func (k *Link) end(limit time.Duration, err error, owed bool) error {
	k.inFlight.Store(owed)
	if k.fuse.disarm() {
		k.Close() // the fuse may be about to; now it is certain
		return at(k.where, fmt.Errorf("%w (%v)", ErrTimeout, limit.Round(time.Millisecond)))
	}
	if err != nil {
		k.Close()
	}
	k.rest()
	return at(k.where, err)
}

// report tells the next dials what became of an exchange. moved says that the server is of no use.
func (k *Link) report(err error, moved bool) {
	if err == nil && !moved {
		k.pace.succeeded()
		return
	}
	k.pace.failed(moved, nil)
}
