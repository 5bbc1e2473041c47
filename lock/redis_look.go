package lock

import (
	"context"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// owner returns who holds the lock: nil for nobody.
func (s *store) owner(ctx context.Context, name string) (*taken, error) {
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.Owner, []string{s.lock(name)})
	if err != nil {
		return nil, err
	}
	return parseTaken(reply)
}

// owners returns for each name who holds the lock: nil for nobody.
func (s *store) owners(ctx context.Context, names []string) ([]*taken, error) {
	sets := make([]scriptArgs, len(names))
	for i, name := range names {
		sets[i].keys = []string{s.lock(name)}
	}
	replies, err := s.evalAll(ctx, limitFromNow(), &scripts.Owner, sets)
	if err != nil {
		return nil, err
	}
	all := make([]*taken, len(names))
	for i, reply := range replies {
		refused, isErr := reply.(error)
		if isErr && redisconn.HasCode(refused, "WRONGTYPE") {
			all[i] = &taken{foreign: true}
			continue
		}
		if isErr {
			return nil, refused
		}
		if all[i], err = parseTaken(reply); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseTaken(reply any) (*taken, error) {
	parts, ok := reply.([]any)
	if ok && len(parts) == 0 {
		return nil, nil
	}
	if len(parts) == 2 {
		owner, ok := parts[0].([]byte)
		if pttl, ok2 := parsePTTL(parts[1]); ok && ok2 {
			return &taken{owner: string(owner), pttl: pttl}, nil
		}
	}
	return nil, errReply
}

// keysLike says which keys a scan returns: those that match the pattern and are of the type.
type keysLike struct{ pattern, kind string }

// locks are the locks whose names match a pattern of ours.
func (k keyspace) locks(pattern string) keysLike {
	return keysLike{escapeGlob(k.prefix+k.before) + namePattern(pattern) + escapeGlob(k.after), "string"}
}

// registers are the hashes that say for what clients wait.
func (k keyspace) registers() keysLike {
	return keysLike{escapeGlob(k.prefix) + "lock-waiting:*", "hash"}
}

// scan returns some of the keys, and the cursor for the next call: "0" when that was all. A key can
// come twice.
func (s *store) scan(ctx context.Context, cursor string, like keysLike) ([]string, string, error) {
	cmd := redisconn.Cmd("SCAN", cursor, "MATCH", like.pattern, "COUNT", 1000, "TYPE", like.kind)
	cmd.Fits = fitsScan
	call := redisconn.NewCall(limitFromNow(), cmd)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, "", err
	}
	if err := call.Refused(0); err != nil {
		return nil, "", err
	}
	return parseScan(call.Replies[0])
}

func parseScan(reply any) (keys []string, next string, err error) {
	parts, err := redis.Values(reply, nil)
	if err != nil || len(parts) != 2 {
		return nil, "", errReply
	}
	next, err = redis.String(parts[0], nil)
	if err != nil {
		return nil, "", errReply
	}
	keys, err = redis.Strings(parts[1], nil)
	if err != nil {
		return nil, "", errReply
	}
	return keys, next, nil
}

func fitsScan(_ []any, reply any) bool {
	_, _, err := parseScan(reply)
	return err == nil
}

// registerOf returns whose register a key is: label and client. Behind them, after a colon, stands the
// number of a wait connection, which clients of earlier versions leave out. Labels can have slashes,
// the ids of clients have none. What no client of holdfast would call itself is somebody else's key.
func (k keyspace) registerOf(key string) (label, client string, ok bool) {
	whose := strings.TrimPrefix(key, k.prefix+"lock-waiting:")
	slash := strings.LastIndexByte(whose, '/')
	if slash < 0 {
		return "", "", false
	}
	label, client = whose[:slash], whose[slash+1:]
	client, number, numbered := strings.Cut(client, ":")
	if _, err := strconv.ParseUint(number, 10, 63); numbered && err != nil {
		return "", "", false
	}
	return label, client, owner.CheckLabel(label) == nil && owner.CheckLabel(client) == nil
}

// waitCounts returns for each register how many wait for which lock; nothing for one that is gone,
// or has become something else.
func (s *store) waitCounts(ctx context.Context, registers []string) ([]map[string]int, error) {
	cmds := make([]redisconn.Command, len(registers))
	for i, key := range registers {
		cmds[i] = redisconn.Cmd("HGETALL", key)
		cmds[i].Fits = fitsHash
	}
	call := redisconn.NewBatch(limitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	all := make([]map[string]int, len(registers))
	for i, reply := range refusals(call) {
		refused, isErr := reply.(error)
		if isErr && redisconn.HasCode(refused, "WRONGTYPE") {
			continue
		}
		if isErr {
			return nil, refused
		}
		fields, err := redis.StringMap(reply, nil)
		if err != nil {
			return nil, errReply
		}
		all[i] = parseCounts(fields)
	}
	return all, nil
}

func fitsHash(_ []any, reply any) bool {
	_, err := redis.StringMap(reply, nil)
	return err == nil
}

// parseCounts leaves out the names for which nobody waits any more, and what was written by others.
func parseCounts(fields map[string]string) map[string]int {
	counts := make(map[string]int, len(fields))
	for name, text := range fields {
		if n, err := strconv.ParseUint(text, 10, 31); err == nil && n > 0 {
			counts[name] = int(n)
		}
	}
	return counts
}

// escapeGlob makes a text mean itself in a pattern of Redis's.
func escapeGlob(text string) string {
	return globSpecials.Replace(text)
}

var globSpecials = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`)

// namePattern is a pattern of ours, in which only * and ? are special, in Redis's terms.
func namePattern(pattern string) string {
	if pattern == "" {
		return "*"
	}
	return strings.NewReplacer(`\*`, `*`, `\?`, `?`).Replace(escapeGlob(pattern))
}
