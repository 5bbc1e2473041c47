package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// The files redis*.go are the only ones that speak to Redis. docs/wire.md describes keys, values and
// scripts.

const (
	// leastFenceTTL is how long the last fencing token is kept, or twice as long as the lease can be.
	leastFenceTTL = 7 * 24 * time.Hour
	// maxPTTL is the longest that Redis is believed, in milliseconds: 100 years, with which no time of ours
	// overflows. Other programs may ask for far more.
	maxPTTL = int64(forEver / time.Millisecond)
	// batchSize bounds the scripts that are sent together.
	batchSize = 512
)

// A keyspace knows what things are called in Redis.
type keyspace struct {
	prefix        string
	before, after string // of a lock's name, in its key: the two parts of Options.KeyFormat
	// mark and tail stand around the name in the keys beside it. Under a format of one's own they make it
	// the lock's key behind a percent sign, so that the locks of one name in two formats share nothing.
	mark, tail string
}

func newKeyspace(prefix, format string) keyspace {
	k := keyspace{prefix: prefix}
	k.before, k.after, _ = strings.Cut(format, "%s")
	if k.before != defaultBefore || k.after != "" {
		k.mark, k.tail = "%"+k.before, k.after
	}
	return k
}

func (k keyspace) lock(name string) string   { return k.prefix + k.before + name + k.after }
func (k keyspace) fence(name string) string  { return k.beside(kindFence, name) }
func (k keyspace) signal(name string) string { return k.beside(kindSignal, name) }

// beside returns the key of this kind that belongs to the lock of a name.
func (k keyspace) beside(kind, name string) string { return k.prefix + kind + k.mark + name + k.tail }

// signalled returns the name of the lock that a signal's key is for.
func (k keyspace) signalled(key string) (name string, ok bool) {
	name, ok = strings.CutPrefix(key, k.prefix+kindSignal+k.mark)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, k.tail)
}

// name returns the name of the lock that a key is.
func (k keyspace) name(key string) string {
	return strings.TrimSuffix(strings.TrimPrefix(key, k.prefix+k.before), k.after)
}

// collides reports whether the key of a lock of this name would begin as other keys of holdfast's do.
func (k keyspace) collides(name string) bool {
	key := strings.TrimPrefix(k.lock(name), k.prefix)
	return k.before != defaultBefore && strings.HasPrefix(key, defaultBefore) || strings.HasPrefix(key, "lock-")
}

// apart reports whether the keys of locks begin with something that tells them from other keys.
func (k keyspace) apart() bool { return k.prefix+k.before != "" }

// A store is the Redis of one client: what can be asked of it, as methods. Each blocks at most for
// the operation limit, or until its context ends.
type store struct {
	keyspace
	source   *redisconn.Source
	calls    *redisconn.Line // shared by all goroutines
	renewals *redisconn.Line // of the renewing goroutine alone, so that nothing delays it
	label    string
	client   string // a ULID: host and pid are not unique

	pools      pools
	signalTTL  time.Duration // that a signal waits for a waiter, where the mutex does not say otherwise
	answered   atomic.Bool   // an acquire was
	loadExtend atomic.Bool   // Redis does not know the extend script: send its text next time
}

func newStore(dialer redisconn.Dialer, o *Options, client string) *store {
	label := o.label()
	source := redisconn.NewSource(dialer, "holdfast:"+strings.ReplaceAll(label, " ", "_"))
	return &store{
		keyspace:  o.keyspace(),
		source:    source,
		calls:     redisconn.NewLine(source),
		renewals:  redisconn.NewLine(source),
		label:     label,
		client:    client,
		signalTTL: o.signalTTL(),
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
	return redisconn.Command{Name: name, Args: append(all, args...), Fits: sc.Fits}
}

// eval runs a script and returns its reply, and a time before it was sent. A Redis that does not
// know the script, because it was restarted, say, is told its text.
func (s *store) eval(ctx context.Context, deadline time.Time, sc *scripts.Script, keys []string,
	args ...any,
) (reply any, before time.Time, err error) {
	return s.evalAs(ctx, false, deadline, sc, keys, args)
}

// evalOnce is eval for what is not sent again if its outcome is unknown.
func (s *store) evalOnce(ctx context.Context, deadline time.Time, sc *scripts.Script, keys []string,
	args ...any,
) (reply any, before time.Time, err error) {
	return s.evalAs(ctx, true, deadline, sc, keys, args)
}

func (s *store) evalAs(ctx context.Context, once bool, deadline time.Time, sc *scripts.Script,
	keys []string, args []any,
) (reply any, before time.Time, err error) {
	var call *redisconn.Call
	for _, text := range []bool{false, true} {
		call = redisconn.NewCall(deadline, script(text, sc, keys, args...))
		call.Once = once
		if err = s.calls.Do(ctx, call); err != nil {
			return nil, time.Time{}, err
		}
		if !noScript(call.Replies[0]) {
			break
		}
	}
	if err := call.Refused(0); err != nil {
		return nil, call.Sent, err
	}
	return call.Replies[0], call.Sent, nil
}

// evalAll runs a script once for each set of keys and arguments, together. The replies are in
// their order; error replies are errors that wrap a redis.Error.
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
		given := refusals(call)
		for n, i := range todo {
			replies[i] = given[n]
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

// parsePTTL takes in what Redis says a key has left: -1 for no expiry, -2 if there is no key. Every PTTL
// passes here.
func parsePTTL(reply any) (ms int64, ok bool) {
	ms, ok = reply.(int64)
	return min(ms, maxPTTL), ok
}

// refusals returns the replies of a call, the errors among them with the server that gave them.
func refusals(call *redisconn.Call) []any {
	for i := range call.Replies {
		if err := call.Refused(i); err != nil {
			call.Replies[i] = err
		}
	}
	return call.Replies
}

type scriptArgs struct {
	keys []string
	args []any
}

// noScript reports whether a reply says that Redis does not know the script.
func noScript(reply any) bool {
	err, ok := reply.(error)
	return ok && redisconn.Classify(err) == redisconn.NoScript
}

// errReply is the error of a reply that is none that its script or command has. redisconn finds that
// before a reply comes here, and closes the connection: somebody else may have this call's reply.
var errReply = redisconn.ErrReply

// errChanged says that the lock is not held as it was seen.
var errChanged = errors.New("it changed hands meanwhile")

// reset gives the lock up if it is held as it was seen, nil for not at all, and returns who held it: nil
// for nobody. The error is errChanged if somebody else does.
func (s *store) reset(ctx context.Context, name string, seen *taken) (*taken, error) {
	keys, args := []string{s.lock(name), s.signal(name)}, []any{millis(s.signalTTL)}
	if seen != nil {
		args = append(args, seen.owner)
	}
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.Reset, keys, args...)
	if err != nil {
		return nil, err
	}
	return parseReset(reply)
}

// parseReset takes in the reply to a reset: who held the lock, nil for nobody.
func parseReset(reply any) (*taken, error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return nil, errReply
	}
	state, _ := parts[0].([]byte)
	was, err := parseTaken(parts[1:])
	if err != nil {
		return nil, err
	}
	switch held := was.pttl >= -1; {
	case string(state) == "reset" && held:
		return was, nil
	case string(state) == "other" && held:
		return nil, errChanged
	case string(state) == "free" && was.pttl == -2 && was.owner == "":
		return nil, nil
	}
	return nil, errReply
}

// misled reports whether err says that this server is the wrong one, before any acquire was answered: that
// is a mistake in an address. Later it is a failover, which passes.
func (s *store) misled(err error) bool {
	wrong := redisconn.HasCode(err, "READONLY") || redisconn.HasCode(err, "MOVED")
	return wrong && !s.answered.Load()
}

// repair puts a signal back that was taken and not used, if the lock is free.
func (s *store) repair(ctx context.Context, ref lockRef) error {
	set := s.repairArgs(ref)
	_, _, err := s.eval(ctx, limitFromNow(), &scripts.Repair, set.keys, set.args...)
	return err
}

// signalMillis returns for how many milliseconds a signal of the lock waits for a waiter.
func (s *store) signalMillis(ref lockRef) int64 { return millis(cmp.Or(ref.signalTTL, s.signalTTL)) }

func (s *store) repairArgs(ref lockRef) scriptArgs {
	set := scriptArgs{[]string{s.lock(ref.name), s.signal(ref.place())}, []any{s.signalMillis(ref)}}
	switch {
	case !ref.keep.IsZero():
		set.args = append(set.args, ref.member, ref.id+owner.KeptSuffix)
	case ref.member != "":
		set.args = append(set.args, ref.member)
	}
	return set
}

// repairAll is repair for several locks. For each it returns for how long the lock is kept yet that should
// be free by now, 0 if it is not, or the error.
func (s *store) repairAll(deadline time.Time, refs []lockRef) ([]time.Duration, []error) {
	sets := make([]scriptArgs, len(refs))
	for i, ref := range refs {
		sets[i] = s.repairArgs(ref)
	}
	left, errs := make([]time.Duration, len(refs)), make([]error, len(refs))
	replies, err := s.evalAll(context.Background(), deadline, &scripts.Repair, sets)
	for i := range refs {
		if errs[i] = err; err != nil {
			continue
		}
		left[i], errs[i] = parseKept(replies[i])
	}
	return left, errs
}

// parseKept takes in the reply to a repair: for how long the lock is kept yet.
func parseKept(reply any) (time.Duration, error) {
	if refused, ok := reply.(error); ok {
		return 0, refused
	}
	if pttl, ok := parsePTTL(reply); ok && pttl >= 0 {
		return fromMillis(pttl), nil
	}
	return 0, errReply
}

// limitFromNow returns when an operation that begins now must have ended.
func limitFromNow() time.Time { return time.Now().Add(operationLimit) }

// inbox is the key on which wait connection k of this client can be called back.
func (s *store) inbox(k int) string {
	return fmt.Sprintf("%slock-inbox:%s:%d", s.prefix, s.client, k)
}

// waiting is the key of the hash that says what is waited for on wait connection k of this client.
func (s *store) waiting(k int) string {
	return fmt.Sprintf("%slock-waiting:%s/%s:%d", s.prefix, s.label, s.client, k)
}
