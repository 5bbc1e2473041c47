package engine_test

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// A slot is one of so many slots that a key has: a kind of thing that neither this package nor
// store knows. The key is a sorted set of the ids that have a slot, by the time at which each loses
// it. All of it stands in this file: the script, and how to ask for a slot, what is held of it, and
// how one waits for it.
type slot struct {
	store *store.Store
	key   string
	of    int
	id    string // under which it is held, or may be
}

var slots = scripts.New("slots", `
local call, key, of, verb, id, ttl = redis.call, KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local now = call('TIME'); now = now[1] * 1000 + math.floor(now[2] / 1000)
call('ZREMRANGEBYSCORE', key, '-inf', now)
local mine, free = call('ZSCORE', key, id), call('ZCARD', key) < of
local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')
local function wake() call('LPUSH', KEYS[2], '1') call('PEXPIRE', KEYS[2], 1000) end
if verb == 'look' then return free and -2 or first[2] - now end
if verb == 'wake' then if free and call('LLEN', KEYS[2]) == 0 then wake() end return 0 end
if verb == 'give' then if call('ZREM', key, id) == 0 then return 'not held' end wake() return 'released' end
if verb == 'take' and not (mine or free) then return {first[1], first[2] - now} end
if verb ~= 'take' and not mine then return {'free', '', -2} end
if verb == 'by' then ttl = mine - now + ttl end
if verb ~= 'check' then call('ZADD', key, now + ttl, id) end
return {'ours', '', call('ZSCORE', key, id) - now}`, func([]any, any) bool { return true })

func (s slot) run(verb string, ttl time.Duration) store.Run {
	keys, args := []string{s.key, s.Signal(s.key)}, []any{s.of, verb, s.id, store.Millis(ttl)}
	return store.Run{Script: &slots, Keys: keys, Args: args}
}

func (s slot) eval(ctx context.Context, verb string) (reply any, err error) {
	reply, _, err = s.store.Eval(ctx, store.LimitFromNow(), s.run(verb, 0))
	return reply, err
}

func left(reply any) time.Duration { return time.Duration(reply.(int64)) * time.Millisecond }

// The target, and its one and only try.

func (s slot) Name() string { return s.key }

func (s slot) Place() signal.Name                   { return signal.Name{Kind: "slots", Name: s.key} }
func (s slot) MayHold(o engine.Order) store.Holding { s.id = o.ID; return s }

func (s slot) Ask(ctx context.Context, a engine.Asker) (*engine.Lease, *store.Held, error) {
	return a.Send(ctx, store.LimitFromNow(), s)
}

func (s slot) Send(ctx context.Context, limit time.Time, o engine.Order) (engine.Got, error) {
	s.id = o.ID
	reply, sent, err := s.store.Eval(ctx, limit, s.run("take", o.TTL))
	if by, _ := reply.([]any); len(by) == 2 {
		return engine.Got{Held: &store.Held{Owner: string(by[0].([]byte)), TTL: left(by[1])}}, nil
	}
	return engine.Got{Name: s.key, Holding: s, Sent: sent}, err
}

// What is held.

func (s slot) Extend(e store.Extension) store.Run { return s.run(string(e.Do), e.TTL) }
func (s slot) Release(time.Duration) store.Run    { return s.run("give", 0) }
func (s slot) Repair(bool) (store.Run, bool)      { return s.run("wake", 0), true }
func (s slot) Unfenced() store.Holding            { return s }

// The kind, for those who wait.

func (s slot) Signal(key string) string { return "slots-signal:" + key }
func (s slot) Heard(string, string)     {}

func (s slot) GiveBack(ctx context.Context, _ string) error {
	_, err := s.eval(ctx, "wake")
	return err
}

func (s slot) Look(ctx context.Context, _ []string) ([]signal.Left, error) { // the tests have one key
	reply, err := s.eval(ctx, "look")
	if n, ok := reply.(int64); !ok || n < 0 {
		return []signal.Left{signal.Free}, err
	}
	return []signal.Left{signal.For(left(reply))}, err
}
