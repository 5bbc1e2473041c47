package redisconn

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// Do sends one command and returns its reply. It blocks until the reply is there, at most for the
// limit. The limit replaces the read timeout that the user's dialer may have set, which knows
// nothing of blocking reads. The error
//   - wraps a redis.Error if Redis refused the command: the link remains usable;
//   - wraps [ErrReply] if the reply does not fit the command: the link is dead;
//   - wraps [ErrTimeout] if no reply came in time, or says what else broke the link: it is dead.
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
// replies, as errors that wrap a redis.Error. With an error come the replies before it.
func (k *Link) DoAll(limit time.Duration, cmds ...Command) ([]any, error) {
	if limit <= 0 {
		return nil, ErrTimeout // nothing was sent
	}
	if err := k.stale(); err != nil {
		k.Close()
		return nil, at(k.where, err)
	}
	f := flight{link: k, patience: limit + time.Second}
	replies, err := f.alone(limit, cmds)
	k.report(err, f.moved)
	for i, reply := range replies {
		if refused, ok := reply.(redis.Error); ok {
			replies[i] = at(k.where, refused)
		}
	}
	return replies, err
}

// ping asks whether the other side is there. Any answer will do, also that PING is not allowed.
func (k *Link) ping(limit time.Duration) error {
	f := flight{link: k, patience: limit + time.Second}
	_, err := f.alone(limit, []Command{{Name: "PING", Fits: isPong}})
	return err
}
