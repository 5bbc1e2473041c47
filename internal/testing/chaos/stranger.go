package chaos

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A stranger takes the common locks as another library does that follows the protocol: by SET NX with a
// TTL, without a fencing token and without renewal. It gives them up as python-redis-lock does. No fault is
// its own; a stopped Redis concerns it as everybody.
type stranger struct {
	run    *run
	random *rand.Rand
	index  int
	taken  int
}

// strangers is the client that strangers are in the history.
const strangers = 10_000

// giveUp is python-redis-lock's release.
var giveUp = redis.NewScript(2, `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('LPUSH', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], 1000)
redis.call('DEL', KEYS[1])
return 1`)

// live runs until stop is closed.
func (s *stranger) live(stop <-chan struct{}) {
	pool := s.run.server.Pool(s.run.t)
	defer pool.Close()
	for !over(stop) {
		conn := pool.Get()
		s.take(conn, pick(s.random, s.run.names), stop)
		_ = conn.Close()
		wait(stop, upTo(s.random, s.run.cfg.TTL))
	}
}

// take tries one lock, and holds it for up to its TTL.
func (s *stranger) take(conn redis.Conn, name string, stop <-chan struct{}) {
	ttl := s.run.cfg.TTL
	s.taken++
	id := "stranger-" + strconv.Itoa(s.index) + "-" + strconv.Itoa(s.taken)
	l := Lease{
		Name: name, How: "Foreign", Client: strangers, Worker: s.index, Call: s.run.now(), Longest: ttl,
	}
	reply, err := redis.String(conn.Do("SET", "lock:"+name, id, "NX", "PX", ttl.Milliseconds()))
	if err != nil || reply != "OK" {
		return
	}
	l.Return = s.run.now()
	last := l.Call + ttl - ttl/20 - 10*time.Millisecond // as a careful program counts
	l.Begin, l.End = l.Return, l.Return-1
	until := min(last, l.Return+upTo(s.random, 2*ttl))
	for now := s.run.now(); now < until && !over(stop); now = s.run.now() {
		l.End = now
		time.Sleep(poll)
	}
	s.run.record(func(h *History) { h.Leases = append(h.Leases, l) })
	_, _ = giveUp.Do(conn, "lock:"+name, "lock-signal:"+name, id) // else it expires
}
