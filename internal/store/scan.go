package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// Scan returns some of the keys that are like this, and the cursor for the next call. That is "0"
// for the first call, and again when that was all. A key can come twice.
//
// Redis looks at some 1000 keys for one call, and may find none among them that is like this. It
// serves nobody else meanwhile, so that it should not be many more.
func (s *Store) Scan(ctx context.Context, cursor string, like Like) (keys []string, next string, err error) {
	cmd := redisconn.Cmd("SCAN", cursor, "MATCH", like.pattern, "COUNT", 1000, "TYPE", like.kind)
	cmd.Fits = fitsScan
	call := redisconn.NewCall(LimitFromNow(), cmd)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, "", err
	}
	if err := call.Refused(0); err != nil {
		return nil, "", err
	}
	return parseScan(call.Replies[0])
}

// parseScan takes in the cursor for the next call, and keys.
func parseScan(reply any) (keys []string, next string, err error) {
	parts, err := redis.Values(reply, nil)
	if err != nil || len(parts) != 2 {
		return nil, "", ErrReply
	}
	next, err = redis.String(parts[0], nil)
	if err != nil {
		return nil, "", ErrReply
	}
	all, ok := parts[1].([]any)
	keys, err = redis.Strings(all, nil)
	if err != nil || !ok || slices.Contains(all, nil) { // which would be a key without a name
		return nil, "", ErrReply
	}
	return keys, next, nil
}

// fitsScan takes the reply apart for once: what cannot be taken apart is none.
func fitsScan(_ []any, reply any) bool {
	_, _, err := parseScan(reply)
	return err == nil
}

// RegisterOf returns whose register of waiters a key is: label and client. Behind them, after a
// colon, stands the number of a wait connection. Clients of earlier versions leave the number out.
// Labels can have slashes, the ids of clients have none. What no client of holdfast would call
// itself is somebody else's key.
func (k Keyspace) RegisterOf(key string) (label, client string, ok bool) {
	who := strings.TrimPrefix(key, k.Prefix+KindWaiting)
	slash := strings.LastIndexByte(who, '/')
	if slash < 0 {
		return "", "", false
	}
	label, client = who[:slash], who[slash+1:]
	client, number, numbered := strings.Cut(client, ":")
	if _, err := strconv.ParseUint(number, 10, 63); numbered && err != nil {
		return "", "", false
	}
	return label, client, owner.CheckLabel(label) == nil && owner.CheckLabel(client) == nil
}

// WaitCounts returns for each register how many wait for which lock. It returns nothing for a
// register that is gone, or that has become something else.
func (s *Store) WaitCounts(ctx context.Context, registers []string) ([]map[string]int, error) {
	cmds := make([]redisconn.Command, len(registers))
	for i, key := range registers {
		cmds[i] = redisconn.Cmd("HGETALL", key)
		cmds[i].Fits = fitsHash
	}
	call := redisconn.NewBatch(LimitFromNow(), cmds)
	if err := s.calls.Do(ctx, call); err != nil {
		return nil, err
	}
	all := make([]map[string]int, len(registers))
	for i, reply := range refusals(call) {
		refused, isErr := reply.(error)
		if isErr && WrongType(refused) {
			continue
		}
		if isErr {
			return nil, refused
		}
		fields, err := redis.StringMap(reply, nil)
		if err != nil {
			return nil, ErrReply
		}
		all[i] = parseCounts(fields)
	}
	return all, nil
}

// fitsHash fits pairs of texts: a name, and how many wait for it.
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
