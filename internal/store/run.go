package store

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A Run is a script with the keys and arguments that it is to run with.
type Run struct {
	Script *scripts.Script
	Keys   []string
	Args   []any
}

// command returns the command that runs the script, by its name or by its text. The name is short,
// and the text makes it known.
func (r Run) command(text bool) redisconn.Command {
	name, body := "EVALSHA", r.Script.SHA1
	if text {
		name, body = "EVAL", r.Script.Source
	}
	all := make([]any, 0, 2+len(r.Keys)+len(r.Args))
	all = append(all, body, len(r.Keys))
	for _, key := range r.Keys {
		all = append(all, key)
	}
	return redisconn.Command{Name: name, Args: append(all, r.Args...), Fits: r.Script.Fits}
}

// A how says in which way a script is sent.
type how struct {
	limit time.Time // when it must be answered
	once  bool      // it is not sent again if its outcome is unknown
}

// Eval runs a script and returns its reply, and a time before it was sent. A Redis that does not
// know the script, because it was restarted, say, is told its text. That is no repeat: such a Redis
// has executed nothing. An error reply is an error that wraps a redis.Error and names the server.
func (s *Store) Eval(ctx context.Context, limit time.Time, r Run) (reply any, before time.Time, err error) {
	return s.eval(ctx, how{limit: limit}, r)
}

// EvalOnce is [Store.Eval] for what is not sent again if its outcome is unknown. Eval does not do
// that either: its callers do. But before something that they cannot send again a connection that
// was idle is tried, see redisconn.Call.
func (s *Store) EvalOnce(ctx context.Context, limit time.Time, r Run) (reply any, before time.Time, err error) {
	return s.eval(ctx, how{limit: limit, once: true}, r)
}

func (s *Store) eval(ctx context.Context, h how, r Run) (reply any, before time.Time, err error) {
	var call *redisconn.Call
	for _, text := range []bool{false, true} {
		call = redisconn.NewCall(h.limit, r.command(text))
		call.Once = h.once
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

// evalAll runs several scripts together, in one round trip. The replies are in their order. Error
// replies are errors that wrap a redis.Error.
//
// Those that Redis does not know go out once more, together and by their text, and the others do
// not. If the connection breaks then, no reply counts: the callers know for none what became of it.
func (s *Store) evalAll(ctx context.Context, limit time.Time, runs []Run) ([]any, error) {
	replies := make([]any, len(runs))
	todo := make([]int, len(runs)) // those of the runs that have no reply yet, by their places
	for i := range runs {
		todo[i] = i
	}
	for _, text := range []bool{false, true} {
		cmds := make([]redisconn.Command, len(todo))
		for n, i := range todo {
			cmds[n] = runs[i].command(text)
		}
		call := redisconn.NewBatch(limit, cmds)
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

// answers runs several scripts together and takes each reply in. For each it returns the answer or
// the error: all have the same one if no reply came.
func answers[A any](ctx context.Context, s *Store, limit time.Time, runs []Run, parse func(any) (A, error)) (
	[]A, []error,
) {
	all, errs := make([]A, len(runs)), make([]error, len(runs))
	replies, err := s.evalAll(ctx, limit, runs)
	for i := range runs {
		if errs[i] = err; err != nil {
			continue
		}
		if refused, ok := replies[i].(error); ok {
			errs[i] = refused
			continue
		}
		all[i], errs[i] = parse(replies[i])
	}
	return all, errs
}

// refusals returns the replies of a call, the errors among them with the server that gave them.
// After a failover it matters which one that was.
func refusals(call *redisconn.Call) []any {
	for i := range call.Replies {
		if err := call.Refused(i); err != nil {
			call.Replies[i] = err
		}
	}
	return call.Replies
}
