package store

import (
	"context"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// Kinds are those of the keys that locks have.
var Kinds = []string{KindLock, KindSignal, KindFence, KindInbox, KindWaiting}

// key returns a key of a kind, to try commands on. What is allowed there is allowed for other
// names.
func (k Keyspace) key(kind, name string) string {
	if kind == KindLock {
		return k.LockKey(name)
	}
	return k.Prefix + kind + name
}

// Tries are the commands that [Store.Probe] tries on a key of each kind.
var Tries = []string{
	"DEL", "EXISTS", "GET", "HGETALL", "HSET", "LLEN", "LPUSH",
	"LREM", "PERSIST", "PEXPIRE", "PTTL", "SET", "TYPE",
}

// parameters are what CONFIG GET is asked for.
var parameters = []string{
	"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write",
	"timeout", "hz",
}

// A Clock is the server's time and between which times of ours it was asked for.
type Clock struct {
	Server      time.Time
	Sent, Heard time.Time
	Refused     error // it was not told
}

// Took is how long the round trip took, by the monotonic clock. A step of the wall clock does not
// matter.
func (c Clock) Took() time.Duration { return c.Heard.Sub(c.Sent) }

// Time asks for the server's time. That it is refused is no error, but part of the answer.
func (s *Store) Time(ctx context.Context) (Clock, error) {
	cmd := redisconn.Cmd("TIME")
	cmd.Fits = fitsTime
	call := redisconn.NewCall(LimitFromNow(), cmd)
	if err := s.calls.Do(ctx, call); err != nil {
		return Clock{}, err
	}
	c := Clock{Sent: call.Sent, Heard: time.Now()}
	if c.Refused = replyError(call.Replies[0]); c.Refused == nil {
		c.Server, c.Refused = parseTime(call.Replies[0])
	}
	return c, nil
}

// parseTime takes in seconds and microseconds: as texts, or as the numbers that other servers send.
func parseTime(reply any) (time.Time, error) {
	parts, _ := reply.([]any)
	numbers, err := redis.Int64s(reply, nil)
	if err != nil || len(parts) != 2 || parts[0] == nil || parts[1] == nil {
		return time.Time{}, ErrReply
	}
	return time.Unix(numbers[0], numbers[1]*1000), nil
}

func fitsTime(_ []any, reply any) bool {
	_, err := parseTime(reply)
	return err == nil
}

// Facts are what a server says of itself, and of commands that need no key.
type Facts struct {
	Info      map[string]string
	InfoErr   error
	Config    map[string]string
	ConfigErr error // the first refusal to tell a parameter

	// Whether these commands were refused. SET is there for the states in which Redis refuses
	// writes: some of them it does not mind in a script that has deleted something.
	Eval, EvalSHA, Set, Scan error
}

// noSuchScript is the SHA-1 sum of no script. Who may run scripts by their names is told that it is
// unknown.
var noSuchScript = strings.Repeat("0", 40)

// Ask sends everything that leaves no trace, in one round trip. Nobody uses the name, so that SET
// with XX finds no key and changes nothing, and so that SCAN finds none.
//
// The commands have no Fits. Their replies differ from server to server, and proxies answer some of
// them by themselves. What is not understood is not told.
func (s *Store) Ask(ctx context.Context, name string) (*Facts, error) {
	cmds := []redisconn.Command{
		redisconn.Cmd("INFO"),
		redisconn.Cmd("EVAL", "return 1", 0),
		redisconn.Cmd("EVALSHA", noSuchScript, 0),
		redisconn.Cmd("SET", s.LockKey(name), "v", "XX"),
		redisconn.Cmd("SCAN", "0", "MATCH", escapeGlob(s.LockKey(name)), "COUNT", 1, "TYPE", "string"),
	}
	own := len(cmds)
	for _, parameter := range parameters {
		cmds = append(cmds, redisconn.Cmd("CONFIG", "GET", parameter))
	}
	call := redisconn.NewBatch(LimitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	r := call.Replies
	// The fourth reply and those before it matter only as refusals, like that of SCAN.
	f := &Facts{Eval: replyError(r[1]), EvalSHA: replyError(r[2]), Set: replyError(r[3]), Scan: replyError(r[4])}
	f.Info, f.InfoErr = parseInfo(r[0])
	f.Config, f.ConfigErr = parseConfig(r[own:])
	return f, nil
}

// parseInfo takes in lines of a key and a value. The others are headings.
func parseInfo(reply any) (map[string]string, error) {
	info := make(map[string]string)
	text, err := redis.String(reply, replyError(reply))
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info, err
}

// parseConfig takes in the replies to CONFIG GET, one for each of the parameters. A server that
// does not know one of them says nothing of that one. Each was asked for by itself: before 7.0
// Redis takes one at a time.
func parseConfig(replies []any) (config map[string]string, err error) {
	config = make(map[string]string)
	for i, reply := range replies {
		pair, bad := redis.Strings(reply, replyError(reply))
		if bad == nil && len(pair) == 2 {
			config[parameters[i]] = pair[1]
		}
		if err == nil {
			err = replyError(reply)
		}
	}
	return config, err
}

// Role asks for the role only: "" if the server does not tell. Why it does not is told by INFO,
// which was asked before.
func (s *Store) Role(ctx context.Context) (string, error) {
	call := redisconn.NewCall(LimitFromNow(), redisconn.Cmd("ROLE"))
	if err := s.calls.Do(ctx, call); err != nil {
		return "", err
	}
	return parseRole(call.Replies[0]), nil
}

// parseRole takes in an array whose first element is the role. What else is there differs by the
// role.
func parseRole(reply any) string {
	parts, _ := reply.([]any)
	if len(parts) == 0 {
		return ""
	}
	role, _ := redis.String(parts[0], nil)
	return role
}

// Probed says what came of trying commands on a key.
type Probed struct {
	Err      error             // Redis refused the key, or the script
	Refusals map[string]string // by commands: what Redis said, "" if it worked
}

// Probe tries commands on a key of each kind, and returns what came of it by kinds. Redis checks
// the keys of a script before it runs it, so each kind has a run of its own. Without a right to run
// scripts there is no answer.
//
// The script comes as text if that is allowed, and then Redis knows it. Else it can be run by its
// sum only, and Redis may not know it.
func (s *Store) Probe(ctx context.Context, f *Facts, name string) (map[string]Probed, error) {
	text := Judge(f.Eval) == Present
	if !text && Judge(f.EvalSHA) != Present {
		return nil, nil
	}
	args := texts(Tries)
	cmds := make([]redisconn.Command, len(Kinds))
	for i, kind := range Kinds {
		cmds[i] = Run{&scripts.Probe, []string{s.key(kind, name)}, args}.command(text)
	}
	call := redisconn.NewBatch(LimitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	probed := make(map[string]Probed, len(Kinds))
	for i, kind := range Kinds {
		probed[kind] = parseProbed(call.Replies[i])
	}
	return probed, nil
}

// parseProbed takes in the probe script's reply: one text for each of Tries, in their order.
func parseProbed(reply any) Probed {
	if err := replyError(reply); err != nil {
		return Probed{Err: err}
	}
	said, err := parseTexts(reply)
	if err != nil || len(said) != len(Tries) {
		return Probed{Err: ErrReply}
	}
	p := Probed{Refusals: make(map[string]string, len(Tries))}
	for i, command := range Tries {
		if p.Refusals[command] = said[i]; said[i] == "ok" {
			p.Refusals[command] = ""
		}
	}
	return p
}

// TryBlocking tries to name a connection and to read from keys of these kinds that do not exist. It
// returns how each was refused, nil if it was not. Without kinds nothing is read.
//
// Both happen on a connection of their own: nobody should wait behind a blocking read, nor have the
// name.
func (s *Store) TryBlocking(ctx context.Context, kinds []string, name string) (named, popped error) {
	line := redisconn.NewLine(s.source)
	defer line.Close()
	cmds := []redisconn.Command{redisconn.Cmd("CLIENT", "SETNAME", "holdfast:check")}
	if len(kinds) > 0 {
		var args []any
		for _, kind := range kinds {
			args = append(args, s.key(kind, name))
		}
		cmds = append(cmds, redisconn.Command{Name: "BLPOP", Args: append(args, "0.1")})
	}
	call := redisconn.NewBatch(LimitFromNow(), cmds)
	if err := line.Do(ctx, call); err != nil {
		return err, err
	}
	if len(cmds) > 1 {
		popped = replyError(call.Replies[1])
	}
	return replyError(call.Replies[0]), popped
}

// replyError returns the error that a reply is, or nil.
func replyError(reply any) error {
	err, _ := reply.(error)
	return err
}
