package lock

import (
	"context"
	"strings"

	"github.com/gomodule/redigo/redis"

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

// owners returns for each name who holds the lock: nil for nobody, and for what is no lock.
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
		refused, isErr := reply.(redis.Error)
		if isErr && redisconn.HasCode(refused, "WRONGTYPE") {
			continue // it became something else since the scan
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
		if pttl, ok2 := parts[1].(int64); ok && ok2 {
			return &taken{string(owner), pttl}, nil
		}
	}
	return nil, errReply
}

// scan returns the names of some locks that match the pattern, and the cursor for the next call:
// "0" when that was all. A name can come twice.
func (s *store) scan(ctx context.Context, cursor, pattern string) ([]string, string, error) {
	call := redisconn.NewCall(limitFromNow(), redisconn.Cmd("SCAN", cursor,
		"MATCH", escapeGlob(s.prefix)+"lock:"+pattern, "COUNT", 1000, "TYPE", "string"))
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, "", err
	}
	if err, ok := call.Replies[0].(redis.Error); ok {
		return nil, "", err
	}
	parts, err := redis.Values(call.Replies[0], nil)
	if err != nil || len(parts) != 2 {
		return nil, "", errReply
	}
	next, err := redis.String(parts[0], nil)
	if err != nil {
		return nil, "", errReply
	}
	keys, err := redis.Strings(parts[1], nil)
	if err != nil {
		return nil, "", errReply
	}
	for i, key := range keys {
		keys[i] = s.name(key)
	}
	return keys, next, nil
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
