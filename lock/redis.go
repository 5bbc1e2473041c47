package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// This file, redis_look.go and redis_wait.go are the only ones that speak to Redis. docs/wire.md describes keys,
// values and scripts.

const (
	signalTTL = "1000"      // milliseconds that a signal waits for a waiter
	fenceTTL  = "604800000" // milliseconds that the last fencing token is kept: 7 days
	// anyPTTL is what extend is told when whatever TTL the key has may stay.
	anyPTTL = int64(1) << 52
	// batchSize bounds the scripts that are sent together.
	batchSize = 512
)

// A keyspace knows what things are called in Redis.
type keyspace struct{ prefix string }

func (k keyspace) lock(name string) string   { return k.prefix + "lock:" + name }
func (k keyspace) signal(name string) string { return k.prefix + "lock-signal:" + name }
func (k keyspace) fence(name string) string  { return k.prefix + "lock-fence:" + name }

// name returns the lock's name that is meant by the key of a lock or a signal.
func (k keyspace) name(key string) string {
	key = strings.TrimPrefix(key, k.prefix)
	if name, ok := strings.CutPrefix(key, "lock-signal:"); ok {
		return name
	}
	return strings.TrimPrefix(key, "lock:")
}

// A store is the Redis of one client: what can be asked of it, as methods. Each blocks at most for
// the operation limit, or until its context ends.
type store struct {
	keyspace
	source   *redisconn.Source
	calls    *redisconn.Line // shared by all goroutines
	renewals *redisconn.Line // of the renewing goroutine alone, so that nothing delays it
	label    string
	client   string // a ULID: host and pid are not unique

	loadExtend atomic.Bool // Redis does not know the extend script: send its text next time
}

func newStore(dial redisconn.DialFunc, prefix, label, client string) *store {
	source := redisconn.NewSource(dial, "holdfast:"+strings.ReplaceAll(label, " ", "_"))
	return &store{
		keyspace: keyspace{prefix},
		source:   source,
		calls:    redisconn.NewLine(source),
		renewals: redisconn.NewLine(source),
		label:    label,
		client:   client,
	}
}

// cut ends the connections for calls and renewals, and with them whatever waits for a reply.
func (s *store) cut() {
	s.calls.Close()
	s.renewals.Close()
}

// close ends all connections, and waits for dials under way at most for the limit.
func (s *store) close(limit time.Duration) {
	s.cut()
	s.source.Close(max(limit, 0))
}

// script returns the command that runs a script, by its name or by its text.
func script(text bool, sc *scripts.Script, keys []string, args ...any) redisconn.Command {
	name, body := "EVALSHA", sc.SHA1
	if text {
		name, body = "EVAL", sc.Source
	}
	all := make([]any, 0, 2+len(keys)+len(args))
	all = append(all, body, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return redisconn.Command{Name: name, Args: append(all, args...)}
}

// eval runs a script and returns its reply, and a time before it was sent. A Redis that does not
// know the script, because it was restarted, say, is told its text.
func (s *store) eval(ctx context.Context, deadline time.Time, sc *scripts.Script, keys []string,
	args ...any,
) (reply any, before time.Time, err error) {
	for _, text := range []bool{false, true} {
		call := redisconn.NewCall(deadline, script(text, sc, keys, args...))
		if err = s.calls.Do(ctx, call); err != nil {
			return nil, time.Time{}, err
		}
		reply, before = call.Replies[0], call.Sent
		if !noScript(reply) {
			break
		}
	}
	if refused, ok := reply.(redis.Error); ok {
		return nil, before, refused
	}
	return reply, before, nil
}

// evalAll runs a script once for each set of keys and arguments, together. The replies are in
// their order; error replies are redis.Error.
func (s *store) evalAll(ctx context.Context, deadline time.Time, sc *scripts.Script,
	sets []scriptArgs,
) ([]any, error) {
	replies := make([]any, len(sets))
	todo := make([]int, len(sets))
	for i := range sets {
		todo[i] = i
	}
	for _, text := range []bool{false, true} {
		cmds := make([]redisconn.Command, len(todo))
		for n, i := range todo {
			cmds[n] = script(text, sc, sets[i].keys, sets[i].args...)
		}
		call := redisconn.NewBatch(deadline, cmds)
		if err := s.calls.Do(ctx, call); err != nil {
			return nil, err
		}
		var again []int
		for n, i := range todo {
			replies[i] = call.Replies[n]
			if noScript(replies[i]) {
				again = append(again, i)
			}
		}
		if todo = again; len(todo) == 0 {
			break
		}
	}
	return replies, nil
}

type scriptArgs struct {
	keys []string
	args []any
}

// noScript reports whether a reply says that Redis does not know the script.
func noScript(reply any) bool {
	err, ok := reply.(redis.Error)
	return ok && redisconn.Classify(err) == redisconn.NoScript
}

// errReply is the error of a reply that is not of the form that the script has.
var errReply = errors.New("the reply is not what the script returns: is a proxy in between?")

// taken is the answer to an acquire that found the lock held.
type taken struct {
	owner string
	pttl  int64
}

// acquire tries to put id there. With the lock it returns the fencing token; without, who holds it.
func (s *store) acquire(ctx context.Context, name, id string, ttl time.Duration) (
	fence int64, held *taken, before time.Time, err error,
) {
	keys := []string{s.lock(name), s.fence(name)}
	reply, before, err := s.eval(ctx, limitFromNow(), &scripts.Acquire, keys, id, millis(ttl), fenceTTL)
	if err != nil {
		return 0, nil, before, err
	}
	if token, ok := reply.([]byte); ok {
		if fence, err := strconv.ParseInt(string(token), 10, 64); err == nil {
			return fence, nil, before, nil
		}
	}
	held, err = parseTaken(reply)
	if err == nil && held == nil {
		err = errReply
	}
	return 0, held, before, err
}

// release gives the lock up if it is held under id, and reports whether it was.
func (s *store) release(ctx context.Context, deadline time.Time, name, id string) (bool, error) {
	set := s.releaseArgs(name, id)
	reply, _, err := s.eval(ctx, deadline, &scripts.Release, set.keys, set.args...)
	return reply == int64(1), err
}

func (s *store) releaseArgs(name, id string) scriptArgs {
	return scriptArgs{[]string{s.lock(name), s.signal(name)}, []any{id, signalTTL}}
}

// releaseAll releases several locks together. For each it returns whether it was held under its id,
// or the error.
func (s *store) releaseAll(ctx context.Context, deadline time.Time, refs []lockRef) ([]bool, []error) {
	sets := make([]scriptArgs, len(refs))
	for i, ref := range refs {
		sets[i] = s.releaseArgs(ref.name, ref.id)
	}
	released, errs := make([]bool, len(refs)), make([]error, len(refs))
	replies, err := s.evalAll(ctx, deadline, &scripts.Release, sets)
	for i := range refs {
		if err != nil {
			errs[i] = err
			continue
		}
		released[i] = replies[i] == int64(1)
		if refused, ok := replies[i].(redis.Error); ok {
			errs[i] = refused
		}
	}
	return released, errs
}

// lockRef names a lock held under an id.
type lockRef struct{ name, id string }

// extended is the answer to an extend.
type extended struct {
	ours  bool
	pttl  int64  // of ours: what the key has now
	owner string // of others: who holds it; "" for nobody
}

func (s *store) extendArgs(name, id string, ttl time.Duration, longest int64) scriptArgs {
	return scriptArgs{
		[]string{s.lock(name), s.signal(name)},
		[]any{id, millis(ttl), longest},
	}
}

// extend prolongs the lock if it is held under id; a PTTL of up to longest milliseconds stays.
func (s *store) extend(ctx context.Context, name, id string, ttl time.Duration, longest int64) (
	extended, error,
) {
	set := s.extendArgs(name, id, ttl, longest)
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.Extend, set.keys, set.args...)
	if err != nil {
		return extended{}, err
	}
	return parseExtended(reply)
}

func parseExtended(reply any) (extended, error) {
	parts, _ := reply.([]any)
	switch {
	case len(parts) == 2 && parts[0] == int64(1):
		if pttl, ok := parts[1].(int64); ok {
			return extended{ours: true, pttl: pttl}, nil
		}
	case len(parts) > 0 && parts[0] == int64(0):
		owner := ""
		if len(parts) == 2 {
			value, _ := parts[1].([]byte)
			owner = string(value)
		}
		return extended{owner: owner}, nil
	}
	return extended{}, errReply
}

// extendAll sends a batch of extends on the renewals' own connection. written is called as soon as
// nothing of it is written any more. An error reply NOSCRIPT means that the extend was not executed;
// the next batch brings the script, but this one is not sent again: its leases may have been
// released meanwhile.
func (s *store) extendAll(sets []scriptArgs, limit time.Duration, written func()) ([]any, error) {
	load := s.loadExtend.Swap(false)
	cmds := make([]redisconn.Command, len(sets))
	for i, set := range sets {
		cmds[i] = script(load && i == 0, &scripts.Extend, set.keys, set.args...)
	}
	call := redisconn.NewBatch(time.Now().Add(limit), cmds)
	call.Written = written
	if err := s.renewals.Do(context.Background(), call); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(call.Replies, noScript) {
		s.loadExtend.Store(true)
	}
	return call.Replies, nil
}

// reset gives the lock up whoever holds it, and returns who did: nil for nobody.
func (s *store) reset(ctx context.Context, name string) (*taken, error) {
	keys := []string{s.lock(name), s.signal(name)}
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.Reset, keys, signalTTL)
	if err != nil {
		return nil, err
	}
	parts, _ := reply.([]any)
	if len(parts) == 1 {
		return nil, nil
	}
	if len(parts) == 3 {
		return parseTaken(parts[1:])
	}
	return nil, errReply
}

// repair puts a signal back that was taken and not used.
func (s *store) repair(ctx context.Context, name string) error {
	_, _, err := s.eval(ctx, limitFromNow(), &scripts.Repair, s.repairArgs(name).keys, signalTTL)
	return err
}

func (s *store) repairArgs(name string) scriptArgs {
	return scriptArgs{[]string{s.lock(name), s.signal(name)}, []any{signalTTL}}
}

// repairAll is repair for several names; errors are left to the waiters' looks.
func (s *store) repairAll(deadline time.Time, names []string) {
	sets := make([]scriptArgs, len(names))
	for i, name := range names {
		sets[i] = s.repairArgs(name)
	}
	_, _ = s.evalAll(context.Background(), deadline, &scripts.Repair, sets)
}

// limitFromNow returns when an operation that begins now must have ended.
func limitFromNow() time.Time { return time.Now().Add(operationLimit) }

// inbox is the key on which wait connection k of this client can be called back.
func (s *store) inbox(k int) string {
	return fmt.Sprintf("%slock-inbox:%s:%d", s.prefix, s.client, k)
}

// waiting is the key of the hash that says for what this client waits.
func (s *store) waiting() string {
	return s.prefix + "lock-waiting:" + s.label + "/" + s.client
}
