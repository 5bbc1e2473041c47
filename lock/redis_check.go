package lock

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// The kinds of keys that there are, by what follows the prefix.
const (
	kindLock    = "lock:"
	kindSignal  = "lock-signal:"
	kindFence   = "lock-fence:"
	kindInbox   = "lock-inbox:"
	kindWaiting = "lock-waiting:"
)

var kinds = []string{kindLock, kindSignal, kindFence, kindInbox, kindWaiting}

// key returns the key of a kind that belongs to a name.
func (k keyspace) key(kind, name string) string {
	if kind == kindLock {
		return k.lock(name)
	}
	return k.prefix + kind + name
}

// pattern returns what the keys of a kind are like, in the words of Redis's access control.
func (k keyspace) pattern(kind string) string {
	if kind == kindLock {
		return k.locks("").pattern
	}
	return escapeGlob(k.prefix+kind) + "*"
}

// tries are the commands that Check tries on a key of each kind.
var tries = []string{
	"DEL", "EXISTS", "GET", "HGETALL", "HSET", "LLEN", "LPUSH",
	"LREM", "PERSIST", "PEXPIRE", "PTTL", "SET", "TYPE",
}

// parameters are what Check asks CONFIG GET for.
var parameters = []string{
	"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write",
	"timeout", "hz",
}

// A timeReply is the server's time and between which times of ours it was asked for.
type timeReply struct {
	server      time.Time
	sent, heard time.Time
	refused     error // it was not told
}

// time asks for the server's time.
func (s *store) time(ctx context.Context) (timeReply, error) {
	cmd := redisconn.Cmd("TIME")
	cmd.Fits = fitsTime
	call := redisconn.NewCall(limitFromNow(), cmd)
	if err := s.calls.Do(ctx, call); err != nil {
		return timeReply{}, err
	}
	t := timeReply{sent: call.Sent, heard: time.Now()}
	parts, err := redis.Int64s(call.Replies[0], replyError(call.Replies[0]))
	switch {
	case err != nil:
		t.refused = err
	default:
		t.server = time.Unix(parts[0], parts[1]*1000)
	}
	return t, nil
}

// fitsTime fits the reply to TIME: seconds and microseconds.
func fitsTime(_ []any, reply any) bool {
	parts, err := redis.Int64s(reply, nil)
	return err == nil && len(parts) == 2
}

// answers are what Redis says of itself, and to commands that need no key. Each is a reply or an
// error reply.
type answers struct {
	info          any
	config        []any // in the order of parameters
	eval, evalsha any
	set, scan     any
}

// noSuchScript is the SHA-1 sum of no script.
var noSuchScript = strings.Repeat("0", 40)

// ask sends everything that leaves no trace, in one round trip. SET is there for the states in which
// Redis refuses writes: some of them it does not mind in a script that has deleted something.
func (s *store) ask(ctx context.Context, name string) (*answers, error) {
	cmds := []redisconn.Command{
		redisconn.Cmd("INFO"),
		redisconn.Cmd("EVAL", "return 1", 0),
		redisconn.Cmd("EVALSHA", noSuchScript, 0),
		redisconn.Cmd("SET", s.lock(name), "v", "XX"),
		redisconn.Cmd("SCAN", "0", "MATCH", escapeGlob(s.lock(name)), "COUNT", 1, "TYPE", "string"),
	}
	own := len(cmds)
	for _, parameter := range parameters {
		cmds = append(cmds, redisconn.Cmd("CONFIG", "GET", parameter))
	}
	call := redisconn.NewBatch(limitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	r := call.Replies
	return &answers{
		info: r[0], eval: r[1], evalsha: r[2], set: r[3], scan: r[4], config: r[own:],
	}, nil
}

// role asks for the role only, and returns the reply or the error reply.
func (s *store) role(ctx context.Context) (any, error) {
	call := redisconn.NewCall(limitFromNow(), redisconn.Cmd("ROLE"))
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	return call.Replies[0], nil
}

// probe tries commands on a key of each kind. Redis checks the keys of a script before it runs it,
// so each kind has a run of its own. Without a right to run scripts there is no answer.
func (s *store) probe(ctx context.Context, asked *answers, name string) (map[string]any, error) {
	text := judge(asked.eval) == present
	if !text && judge(asked.evalsha) != present {
		return nil, nil
	}
	args := make([]any, len(tries))
	for i, command := range tries {
		args[i] = command
	}
	cmds := make([]redisconn.Command, len(kinds))
	for i, kind := range kinds {
		cmds[i] = script(text, &scripts.Probe, []string{s.key(kind, name)}, args...)
	}
	call := redisconn.NewBatch(limitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	probed := make(map[string]any, len(kinds))
	for i, kind := range kinds {
		probed[kind] = call.Replies[i]
		if parts, ok := call.Replies[i].([]any); ok && len(parts) != len(tries) {
			probed[kind] = errReply
		}
	}
	return probed, nil
}

// tryBlocking tries to name a connection and to read from keys that do not exist: on a connection of
// its own, for nobody should wait behind a blocking read. It returns the replies, or the errors.
func (s *store) tryBlocking(ctx context.Context, kinds []string, name string) (named, popped any) {
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
	call := redisconn.NewBatch(limitFromNow(), cmds)
	if err := line.Do(ctx, call); err != nil {
		return err, err
	}
	if len(cmds) > 1 {
		popped = call.Replies[1]
	}
	return call.Replies[0], popped
}

// replyError returns the error that a reply is, or nil.
func replyError(reply any) error {
	err, _ := reply.(error)
	return err
}

// A verdict says whether the user has a right.
type verdict int

const (
	undecided verdict = iota
	present
	missing
)

// judge says what the reply to a harmless command means for the right to send it.
func judge(reply any) verdict {
	err := replyError(reply)
	var e redis.Error
	switch {
	case err == nil, noScript(reply):
		return present
	case !errors.As(err, &e):
		return undecided
	case denied(string(e)), unknownCommand(string(e)):
		return missing
	}
	return undecided
}

// denied reports whether an error is an ACL's refusal. Inside scripts it has no code before Redis
// 7.2.
func denied(text string) bool {
	return contains(text, "noperm", "no permissions to", "can't run this command",
		"can't access at least one")
}

// unknownCommand reports whether a command was renamed, or never was there.
func unknownCommand(text string) bool {
	return contains(text, "unknown command", "unknown subcommand", "unknown redis command")
}

// contains looks for any of some texts, which are in lower case.
func contains(text string, any ...string) bool {
	text = strings.ToLower(text)
	for _, one := range any {
		if strings.Contains(text, one) {
			return true
		}
	}
	return false
}
