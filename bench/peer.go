package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/gomodule/redigo/redis"
)

// unlockScript is the release that one writes by hand, with the signal for waiters.
var unlockScript = redis.NewScript(2, `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('LPUSH', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], 1000)
redis.call('DEL', KEYS[1])
return 1`)

// A peer is the lock that one writes by hand: SET NX PX, EVALSHA to release, BLPOP to wait. It has
// neither renewal nor fencing, and loses the signals that it does not live to use.
type peer struct {
	pool *redis.Pool
	name string
}

var errTaken = errors.New("taken")

// do runs a command as one does: with the context if it can end.
func do(ctx context.Context, conn redis.Conn, command string, args ...any) (any, error) {
	if ctx.Done() == nil {
		return conn.Do(command, args...)
	}
	return redis.DoContext(conn, ctx, command, args...)
}

// lock takes the lock and returns the id that releases it.
func (p peer) lock(ctx context.Context) (string, error) {
	var random [16]byte
	_, _ = rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	conn := p.pool.Get()
	defer conn.Close()
	for {
		reply, err := do(ctx, conn, "SET", "lock:"+p.name, id, "NX", "PX", 30000)
		if err != nil || reply != nil {
			return id, err
		}
		if _, err := conn.Do("BLPOP", "lock-signal:"+p.name, 1); err != nil {
			return "", err
		}
	}
}

func (p peer) unlock(ctx context.Context, id string) error {
	conn := p.pool.Get()
	defer conn.Close()
	released, err := redis.Int(do(ctx, conn, "EVALSHA", unlockScript.Hash(), 2,
		"lock:"+p.name, "lock-signal:"+p.name, id))
	if err == nil && released != 1 {
		return errTaken
	}
	return err
}

// load brings the script.
func load(pool *redis.Pool) error {
	conn := pool.Get()
	defer conn.Close()
	return unlockScript.Load(conn)
}
