package redisconn

import (
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A session is how a server knows a connection. It names a connection for good: a server gives no id
// twice while it runs, and each run of a server has an id of its own.
type session struct {
	id  int64  // of CLIENT ID; 0: not known
	run string // the server's run_id; "": not known
}

func (s session) known() bool { return s.id > 0 && s.run != "" }

// greet makes a new connection ready for use, all in one write: AUTH and SELECT where the dialer asks
// for them, the connection's name, and the questions for its session. Then it ends what predecessors
// left under way; the connection serves nobody before.
//
// An error of AUTH or SELECT is the dial's. The others are also the commands on which Redis tells that
// it has too many clients, is in protected mode or wants a password. Beyond that their errors do not
// matter: a connection without a name, or whose session is not known, works.
func (s *Source) greet(link *Link, limit time.Duration) error {
	began := time.Now()
	cmds := s.greeting()
	replies, err := link.ask(limit, cmds)
	link.greeted = time.Since(began)
	must := len(s.dialer.Greeting)
	for i, reply := range replies { // also of a server that says why and closes the connection
		refused, ok := reply.(redis.Error)
		if ok && (i < must || unusable(refused)) {
			return refused
		}
	}
	if err != nil {
		return err
	}
	last := len(replies) - 1
	s.orphans.enter(link, sessionOf(replies[last-1], replies[last]))
	return s.killOrphans(link, limit-time.Since(began))
}

// greeting returns the commands of the greeting. The last two ask for the session.
func (s *Source) greeting() []Command {
	cmds := make([]Command, 0, len(s.dialer.Greeting)+3)
	cmds = append(cmds, s.dialer.Greeting...)
	if s.name != "" {
		cmds = append(cmds, Command{"CLIENT", []any{"SETNAME", s.name}, isOK})
	}
	return append(cmds, Command{"CLIENT", []any{"ID"}, isInt}, Command{"INFO", []any{"server"}, isBulk})
}

// unusable reports whether an error reply to a greeting means that the connection is of no use.
func unusable(refused redis.Error) bool {
	return Classify(refused) == Moved || HasCode(refused, "NOAUTH") || HasCode(refused, "DENIED")
}

// sessionOf returns what the replies to CLIENT ID and INFO say. Either may be an error.
func sessionOf(id, info any) session {
	var s session
	s.id, _ = id.(int64)
	text, _ := info.([]byte)
	for line := range strings.Lines(string(text)) {
		if run, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
			s.run = run
		}
	}
	return s
}

// ask sends the commands in one write and returns their replies, error replies among them. With an
// error come the replies that were there before it.
func (k *Link) ask(limit time.Duration, cmds []Command) ([]any, error) {
	if limit <= 0 {
		return nil, ErrTimeout // nothing was sent
	}
	now := time.Now()
	c := NewBatch(now.Add(limit), cmds)
	c.Sent, c.by = now, c.Deadline
	f := flight{link: k}
	err := f.begin([]*Call{c})
	if err == nil {
		err = f.next()
	}
	return c.Replies, f.end(err)
}
