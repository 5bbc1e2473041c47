package engine_test

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/signal"
)

// A slot is one of so many slots that a key has: a kind of thing that neither this package nor store knows. The key
// is a sorted set of the ids that have a slot, by the time at which each loses it. All of it stands in this
// file: how to ask for a slot, to prolong it, to give it up, to put a signal back and to look.
type slot struct {
	store *store.Store
	key   string
	of    int
	id    string // under which it is held, or may be
}

// now drops the slots whose time is over. t is the server's time in milliseconds.
const now = `local c, k, n = redis.call, KEYS[1], tonumber(ARGV[1])
local t = c('TIME'); t = t[1] * 1000 + math.floor(t[2] / 1000)
c('ZREMRANGEBYSCORE', k, '-inf', t)
local function least() local l = c('ZRANGE', k, 0, 0, 'WITHSCORES'); return l[1], math.floor(l[2] - t) end `

func script(name, source string) *scripts.Script {
	s := scripts.New(name, now+source, func([]any, any) bool { return true })
	return &s
}

var (
	takeSlot = script("take", `if not c('ZSCORE', k, ARGV[2]) and c('ZCARD', k) >= n then return {least()} end
c('ZADD', k, t + ARGV[3], ARGV[2]) return {}`)
	keepSlot = script("keep", `if not c('ZSCORE', k, ARGV[2]) then return {'free', '', -2} end
if ARGV[3] ~= 'check' then c('ZADD', k, t + ARGV[4], ARGV[2]) end
return {'ours', '', math.floor(c('ZSCORE', k, ARGV[2]) - t)}`)
	giveSlot = script("give", `if c('ZREM', k, ARGV[2]) == 0 then return 'not held' end
c('LPUSH', KEYS[2], '1') c('PEXPIRE', KEYS[2], 1000) return 'released'`)
	mendSlot = script("mend", `if c('ZCARD', k) >= n or c('LLEN', KEYS[2]) > 0 then return 0 end
c('LPUSH', KEYS[2], '1') c('PEXPIRE', KEYS[2], 1000) return 0`)
	seeSlots = script("see", `if c('ZCARD', k) < n then return -2 end local _, left = least() return left`)
)

func (s slot) run(sc *scripts.Script, args ...any) store.Run {
	return store.Run{Script: sc, Keys: []string{s.key, s.Signal(s.key)}, Args: append([]any{s.of}, args...)}
}

// The target, and its one and only try.

func (s slot) Name() string       { return s.key }
func (s slot) Place() signal.Name { return signal.Name{Kind: "slots", Name: s.key} }

func (s slot) Ask(ctx context.Context, a engine.Asker) (*engine.Lease, *store.Held, error) {
	return a.Send(ctx, store.LimitFromNow(), s)
}

func (s slot) Send(ctx context.Context, limit time.Time, o engine.Order) (engine.Got, error) {
	reply, sent, err := s.store.Eval(ctx, limit, s.run(takeSlot, o.ID, store.Millis(o.TTL)))
	if parts, _ := reply.([]any); err != nil || len(parts) > 0 {
		return engine.Got{Held: heldFor(parts)}, err
	}
	return engine.Got{Name: s.key, Holding: s.MayHold(o), Sent: sent}, nil
}

func heldFor(parts []any) *store.Held {
	if len(parts) < 2 {
		return nil
	}
	left, _ := parts[1].(int64)
	return &store.Held{Owner: string(parts[0].([]byte)), TTL: time.Duration(left) * time.Millisecond}
}

func (s slot) MayHold(o engine.Order) store.Holding {
	s.id = o.ID
	return s
}

// What is held.

func (s slot) Extend(e store.Extension) store.Run {
	return s.run(keepSlot, s.id, string(e.Do), store.Millis(e.TTL))
}
func (s slot) Release(time.Duration) store.Run    { return s.run(giveSlot, s.id) }
func (s slot) Repair(bool) (r store.Run, ok bool) { return s.run(mendSlot), true }
func (s slot) Unfenced() store.Holding            { return s }

// The kind, for those who wait.

func (s slot) Signal(key string) string { return "slots-signal:" + key }
func (s slot) Heard(string, string)     {}

func (s slot) Look(ctx context.Context, keys []string) (left []signal.Left, err error) {
	for range keys { // the tests have one key
		reply, _, err := s.store.Eval(ctx, store.LimitFromNow(), s.run(seeSlots))
		if err != nil {
			return nil, err
		}
		switch ms, _ := reply.(int64); {
		case ms < 0:
			left = append(left, signal.Free)
		default:
			left = append(left, signal.For(time.Duration(ms)*time.Millisecond))
		}
	}
	return left, nil
}

func (s slot) GiveBack(ctx context.Context, _ string) error {
	_, _, err := s.store.Eval(ctx, store.LimitFromNow(), s.run(mendSlot))
	return err
}
