package redisconn

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A Link is one connection that its owner uses alone: one exchange at a time. Only Close may be
// called beside an exchange. After an error that is not a reply of Redis the link is dead.
type Link struct {
	ground // that conn stands on

	conn guarded
	fuse *fuse // closes conn when an exchange takes too long

	pace     *pace         // of the dials of its kind, which learns how exchanges end
	lost     func(*Link)   // called once, when conn is closed
	greeted  time.Duration // how long the greeting took
	inFlight atomic.Bool   // from before something is written until all of it is answered
	once     sync.Once     // closes conn
	entry                  // the source's orphans'
}

func newLink(conn redis.Conn, p *pace, lost func(*Link)) *Link {
	k := &Link{conn: guarded{conn}, pace: p, lost: lost}
	k.fuse = newFuse(k.Close)
	return k
}

// Greeted returns how long the greeting took: a round trip, and what came in its way.
func (k *Link) Greeted() time.Duration { return k.greeted }

// Close ends the connection, and with it an exchange under way. It may be called at any time and
// repeatedly. When it returns, the source knows whether something was under way: the connection is
// closed before that is looked at, so that nothing is written any more.
func (k *Link) Close() {
	k.once.Do(func() {
		if w := k.wire.Load(); w != nil && k.inFlight.Load() {
			w.Reset() // what was given up is not to arrive later
		}
		_ = k.conn.Close()
		k.lost(k)
	})
}

// Do sends one command and returns its reply. It blocks until the reply is there, at most for the
// limit, which replaces the read timeout that the user's dialer may have set and that knows nothing
// of blocking reads. An error reply of Redis wraps a redis.Error and leaves the link usable. A reply that
// does not fit the command is ErrReply and ends the link.
func (k *Link) Do(limit time.Duration, cmd Command) (any, error) {
	replies, err := k.DoAll(limit, cmd)
	if err != nil {
		return nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return nil, refused
	}
	return replies[0], nil
}

// DoAll is [Link.Do] for commands that are sent together. Error replies of Redis are among the
// replies, as errors that wrap a redis.Error. With an error come the replies that were there before it.
func (k *Link) DoAll(limit time.Duration, cmds ...Command) (replies []any, err error) {
	if limit <= 0 {
		return nil, ErrTimeout // nothing was sent
	}
	if err := k.stale(); err != nil {
		k.Close()
		return nil, at(k.where, err)
	}
	defer func() { k.report(err, slices.ContainsFunc(replies, saysMoved)) }()
	return k.exchange(limit, cmds)
}

// exchange is DoAll on a link that is not stale.
func (k *Link) exchange(limit time.Duration, cmds []Command) (replies []any, err error) {
	k.begin(time.Now().Add(limit))
	if err = k.send(cmds); err == nil {
		err = k.conn.Flush()
	}
	for err == nil && len(replies) < len(cmds) {
		var reply any
		// The fuse blows at the limit. The read deadline is a little later, so that the fuse always acts.
		reply, err = k.conn.receive(limit + time.Second)
		refused, ok := refusal(err)
		switch {
		case ok:
			replies, err = append(replies, at(k.where, discreet(refused))), nil
		case err == nil && !cmds[len(replies)].fits(reply):
			err = ErrReply
		case err == nil:
			replies = append(replies, reply)
		}
	}
	if err == nil {
		err = k.surplus()
	}
	return replies, k.end(limit, err, err != nil)
}

// ping asks whether the other side is there. Any answer is good; that PING is not allowed is one, too.
func (k *Link) ping(limit time.Duration) error {
	_, err := k.exchange(limit, []Command{{Name: "PING", Fits: isPong}})
	return err
}

// send puts the commands into the buffer that Flush writes.
func (k *Link) send(cmds []Command) error {
	for i := range cmds {
		if err := k.conn.Send(cmds[i].Name, cmds[i].Args...); err != nil {
			return err
		}
	}
	return nil
}

// report tells the dials that come after what became of an exchange. moved says that the server is of no
// use.
func (k *Link) report(err error, moved bool) {
	switch {
	case moved:
		k.pace.failed(true)
	case err == nil:
		k.pace.succeeded()
	default:
		k.pace.failed(false)
	}
}

// saysMoved reports whether a reply says that the server is of no use.
func saysMoved(reply any) bool {
	refused, ok := reply.(error)
	return ok && Classify(refused) == Moved
}

// begin begins an exchange, which must have ended at the deadline.
func (k *Link) begin(deadline time.Time) {
	k.fuse.arm(deadline)
	k.inFlight.Store(true)
}

// end ends an exchange and returns its error, which is never nil when the fuse has blown. owed says that
// something was written, perhaps, and not answered.
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
