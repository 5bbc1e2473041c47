package redisconn

import (
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// greet makes a new connection ready for use, all in one write: the dialer's own commands (AUTH and
// SELECT), the connection's name, and the questions for its session, which greet returns.
//
// An error of the dialer's own commands is the dial's. The other commands are also those on which
// Redis tells that it has too many clients, is in protected mode or wants a password. Beyond that
// their errors do not matter: a connection without a name, or whose session is not known, works.
func greet(link *Link, own []Command, name string, limit time.Duration) (session, error) {
	began := time.Now()
	f := flight{link: link}
	replies, err := f.alone(limit, greeting(own, name))
	link.greeted = time.Since(began)
	for i, reply := range replies { // also of a server that says why and closes the connection
		refused, ok := reply.(redis.Error)
		if ok && (i < len(own) || unusable(refused)) {
			return session{}, refused
		}
	}
	if err != nil {
		return session{}, err
	}
	last := len(replies) - 1
	return sessionOf(replies[last-1], replies[last]), nil
}

// greeting returns the commands of the greeting. The last two ask for the session.
func greeting(own []Command, name string) []Command {
	cmds := slices.Clip(own) // other dials append to own as well
	if name != "" {
		cmds = append(cmds, Command{"CLIENT", []any{"SETNAME", name}, isOK})
	}
	return append(cmds, Command{"CLIENT", []any{"ID"}, isInt},
		Command{"INFO", []any{"server"}, isBulk})
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

// killOrphans ends what is under way of the orphans, and returns when the server has done so. It
// does nothing where the link does not know its session: the ids may be those of another run, whose
// clients are others'. Only a broken connection is an error, and a server that is of no use.
func killOrphans(link *Link, o *orphans, limit time.Duration) error {
	if !link.session.known() {
		return nil
	}
	victims := o.of(link.session)
	if len(victims) == 0 {
		return nil
	}
	cmds := make([]Command, len(victims))
	for i, victim := range victims {
		cmds[i] = Cmd("CLIENT", "KILL", "ID", victim.id)
	}
	f := flight{link: link}
	replies, err := f.alone(limit, cmds)
	if err != nil {
		return err
	}
	return settleKills(o, victims, replies)
}

// settleKills takes note of the replies to CLIENT KILL.
func settleKills(o *orphans, victims []orphan, replies []any) error {
	var answered []session
	forbidden := false
	for i, reply := range replies {
		refused, ok := reply.(redis.Error)
		switch { // 0 and "No such client" also say that the orphan is over
		case !ok || strings.Contains(string(refused), "No such client"):
			answered = append(answered, victims[i].session)
		case unusable(refused):
			return refused
		default: // a passing error leaves the orphan to the next connection
			forbidden = forbidden || Classify(refused) == Permanent
		}
	}
	o.killed(answered, forbidden)
	return nil
}
