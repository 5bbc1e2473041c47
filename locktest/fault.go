package locktest

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-go/holdfast/lock"
)

// Expire takes the lock of this name away from whoever holds it. That is as if its time were up
// while the holder or its host was paused: nobody holds it then, and no waiter is signalled.
//
// A lease that is renewed ends at its next renewal, after a third of its TTL at most. Any other
// ends at its Deadline. Its context ends with it. Lease.Err and context.Cause are an error that Is
// lock.ErrLost. If the holder releases the lock before, Unlock says lock.ErrNotHeld.
//
// Who waits for the lock by this library has it within a second, and may work beside the holder
// until that is told. This is what fencing tokens are for.
func (s *Server) Expire(name string) {
	s.t.Helper()
	s.redis.Delete(s.keys().lock(name))
}

// Steal gives the lock of this name to another owner, which calls itself "thief". The thief has it
// for the TTL, or until giveBack is called: as if somebody had reset the lock and taken it next. A
// TTL of lock.NoExpiry is for ever.
//
// Whoever held the lock is told as [Server.Expire] says, with an error that names the thief.
// TryLock gets a *lock.HeldError, Lock waits. With a lock that nobody held that is all that Steal
// does. The thief has a larger fencing token than who was robbed, and a lease begun later has a
// larger one still.
//
// giveBack releases the lock, which wakes a waiter, if the thief still has it. To call it again
// does nothing.
func (s *Server) Steal(name string, ttl time.Duration) (giveBack func()) {
	s.t.Helper()
	if ttl < time.Millisecond && ttl != lock.NoExpiry {
		s.t.Fatalf("locktest: a TTL of %v: give 1ms or more, or lock.NoExpiry", ttl)
	}
	id := "thief/" + ulid.MustNew(ulid.Now(), rand.Reader).String()
	keys := s.keys() // giveBack is for the same lock, whatever becomes of Prefix and KeyFormat
	s.eval(steal, keys.lock(name), keys.fence(name), id, ttl.Milliseconds(), time.Now().UnixMicro())
	return func() { s.eval(giveUp, keys.lock(name), keys.signal(name), id) }
}

// Delay makes every reply of Redis come so much late, until another delay is set. 0 ends the delay
// and delivers what was held back. Commands are executed at once, as they are when it is the way
// back that is slow.
//
// A call or a renewal on a new connection takes up to three replies. It is given up after 2 s, or
// after a sixth of the TTL if that is less. With up to a third of that as the delay all goes well.
// With more no renewal is confirmed, and a lease ends at its Deadline, before anybody else can get
// the lock. The error of a call that was given up Is lock.ErrUnknown if Redis may have done what
// was asked.
func (s *Server) Delay(d time.Duration) { s.redis.Delay(d) }

// Down makes Redis unreachable until [Server.Up]. Connections break, with what was under way on
// them, and new ones are refused. Redis keeps its memory, and its clock goes on: keys expire.
//
// A lease that is held then goes on until its Deadline, as it could be renewed yet. Then it ends
// before its key expires, with an error that Is lock.ErrLost and carries the last error met.
//
// Lock of a client that has reached the server before waits for its return. Lock of one that never
// has gets the error, and so does every TryLock.
func (s *Server) Down() { s.redis.Down() }

// Up makes Redis reachable again after [Server.Down]. Leases that have not ended are renewed, and
// waiters go on waiting.
func (s *Server) Up() { s.redis.Up() }

// steal takes KEYS lock, lock-fence and ARGV id, TTL in ms (0: none), time in µs.
const steal = `
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
redis.call('SET', KEYS[2], string.format('%.0f', math.max(last + 1, tonumber(ARGV[3]))))
redis.call('PEXPIRE', KEYS[2], math.max(604800000, 2 * tonumber(ARGV[2])))
redis.call('SET', KEYS[1], ARGV[1])
if tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`

// giveUp takes KEYS lock, lock-signal and ARGV id.
const giveUp = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('LPUSH', KEYS[2], '1')
redis.call('PEXPIRE', KEYS[2], 1000)`

// eval runs a script with two keys, past all faults.
func (s *Server) eval(script, key1, key2 string, args ...any) {
	s.t.Helper()
	if err := s.redis.Eval(script, []string{key1, key2}, args...); err != nil {
		s.t.Fatalf("locktest: %v", err)
	}
}

// keys returns how the locks are called that Expire and Steal are for. It ends the test if that is
// not clear. A fault that hits another key than the program's would look like a program that copes
// with it.
func (s *Server) keys() keyspace {
	s.t.Helper()
	set := keyspaceOf(s.Prefix, s.KeyFormat)
	if strings.Count(set.format, "%s") != 1 {
		s.t.Fatalf("locktest: the KeyFormat %q of the Server must have %%s once, for the name", s.KeyFormat)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Prefix != "" || s.KeyFormat != "" || len(s.seen) == 0:
		return set
	case len(s.seen) > 1:
		s.t.Fatalf("locktest: the server has clients with different Options.Prefix or KeyFormat, whose locks" +
			" of one name are not the same: set Prefix or KeyFormat of the Server to those that are meant")
	}
	return s.seen[0]
}
