package redisconn

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// ErrTimeout is the error of an exchange that Redis did not answer within its limit.
var ErrTimeout = errors.New("no answer from Redis within the time limit")

// A Command is one command for Redis.
type Command struct {
	Name string
	Args []any
}

// Cmd returns the command with these arguments.
func Cmd(name string, args ...any) Command { return Command{name, args} }

// A Link is one connection that its owner uses alone: one exchange at a time. Only Close may be
// called beside an exchange. After an error that is not a reply of Redis the link is dead.
type Link struct {
	conn redis.Conn
	fuse *fuse // closes conn when an exchange takes too long

	closed atomic.Bool
	count  *atomic.Int64 // of open links; nil if nobody counts
}

func newLink(conn redis.Conn) *Link {
	k := &Link{conn: conn}
	k.fuse = newFuse(k.Close)
	return k
}

// counted has the link counted as long as it is open.
func (k *Link) counted(count *atomic.Int64) *Link {
	count.Add(1)
	k.count = count
	return k
}

// Close ends the connection, and with it an exchange under way. It may be called at any time and
// repeatedly.
func (k *Link) Close() {
	_ = k.conn.Close()
	if !k.closed.Swap(true) && k.count != nil {
		k.count.Add(-1)
	}
}

// Do sends one command and returns its reply. It blocks until the reply is there, at most for the
// limit, which replaces the read timeout that the user's dialer may have set and that knows nothing
// of blocking reads. An error reply of Redis is a redis.Error and leaves the link usable.
func (k *Link) Do(limit time.Duration, cmd Command) (any, error) {
	if limit <= 0 {
		return nil, ErrTimeout // nothing was sent
	}
	k.fuse.arm(time.Now().Add(limit))
	err := k.conn.Send(cmd.Name, cmd.Args...)
	if err == nil {
		err = k.conn.Flush()
	}
	var reply any
	if err == nil {
		reply, err = k.read(limit)
	}
	if isReply(err) {
		if late := k.disarm(limit, nil); late != nil {
			return nil, late
		}
		return nil, discreet(err)
	}
	return reply, k.disarm(limit, err)
}

// disarm ends an exchange under the fuse and returns its error. That is never nil when the fuse has
// blown.
func (k *Link) disarm(limit time.Duration, err error) error {
	if k.fuse.disarm() {
		k.Close() // the fuse may be about to; now it is certain
		return fmt.Errorf("%w (%v)", ErrTimeout, limit.Round(time.Millisecond))
	}
	if err != nil {
		k.Close()
	}
	return err
}

// read returns the next reply. The fuse blows at the limit; the read deadline gets a little more,
// so that it is always the fuse that acts.
func (k *Link) read(limit time.Duration) (any, error) {
	if c, ok := k.conn.(redis.ConnWithTimeout); ok {
		return c.ReceiveWithTimeout(limit + time.Second)
	}
	return k.conn.Receive()
}

// isReply reports whether err is an error reply, which leaves the connection usable.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
