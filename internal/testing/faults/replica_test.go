package faults_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 18: the server becomes a replica. Calls say so, waiters and leases wait for its return, and
// the connection is not used again.
// Row 19: what a replica says of the owner is not believed.
func TestFaultReplica(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	var dials atomic.Int64
	pool := s.Pool(t)
	dial := pool.Dial
	pool.Dial = func() (redis.Conn, error) {
		dials.Add(1)
		return dial()
	}
	c, err := lock.New(pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	other := locks.Acquire(t, c.Mutex("other"))
	p := locks.Proxy(t, s)
	j := newJob(t, p.URL(), 9*time.Second) // the lease must live through all of this
	s.Blocked(t, 1)

	p.Set(faultproxy.ToServer, faultproxy.Hold, "") // nobody must meet a master without the lock
	s.Do(t, "REPLICAOF", "127.0.0.1", "1")          // nobody listens there: it keeps its data
	s.Do(t, "CONFIG", "SET", "replica-read-only", "no")
	s.Do(t, "RENAME", "lock:job", "kept") // a replica that has not heard of the lock
	s.Do(t, "CONFIG", "SET", "replica-read-only", "yes")
	p.Heal()

	_, err = c.Mutex("new").TryLock(locks.Soon(t))
	locks.Says(t, "TryLock", err, "READONLY")
	before := dials.Load()
	_, err = c.Mutex("new").TryLock(locks.Soon(t))
	locks.Says(t, "TryLock", err, "READONLY")
	if n := dials.Load() - before; n != 1 {
		t.Errorf("the call after READONLY dialled %d times", n)
	}
	locks.Is(t, "Unlock", other.Unlock(locks.Soon(t)), lock.ErrUnknown)
	j.Reconnecting(t)
	if err := j.RenewalFailed(t); !strings.Contains(fmt.Sprint(err), "READONLY") {
		t.Errorf("the renewal failed with %v", err)
	}

	if !j.Lease.Valid() {
		t.Fatalf("a replica's word was believed: %v", j.Lease.Err())
	}
	p.Set(faultproxy.ToServer, faultproxy.Hold, "")
	s.Do(t, "CONFIG", "SET", "replica-read-only", "no")
	s.Do(t, "RENAMENX", "kept", "lock:job")
	s.Do(t, "REPLICAOF", "NO", "ONE")
	s.Do(t, "CONFIG", "SET", "replica-read-only", "yes")
	p.Heal()
	j.GoesOn(t, s)
	redistest.Until(t, "the background releases", func() bool { return locks.Value(t, s, "lock:other") == "" })
}

// Row 18: the server becomes a replica that has lost its master and says nothing else. Lock waits for
// the end of that.
func TestFaultMasterDown(t *testing.T) {
	t.Parallel()
	s := locks.Server(t, "replica-serve-stale-data no")
	c := locks.Met(t, s.URL(), nil)
	s.Do(t, "REPLICAOF", "127.0.0.1", "1") // nobody listens there
	began := time.Now()
	_, err := c.Mutex("job").TryLock(locks.Soon(t))
	locks.Took(t, "TryLock", began, time.Now(), locks.Slack)
	locks.Says(t, "TryLock", err, "MASTERDOWN")
	wait := locks.Later(locks.Soon(t), c.Mutex("job"))
	s.Do(t, "REPLICAOF", "NO", "ONE")
	good := time.Now()
	lease, at := locks.Got(t, wait)
	locks.Took(t, "Lock", good, at, locks.S+locks.Slack)
	locks.Unlock(t, lease)
}

// Row 18: an operator unblocks who waits, by an error or by a timeout. They wait on.
func TestFaultUnblocked(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"ERROR", "TIMEOUT"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			j := newJob(t, s.URL(), 3*time.Second)
			for range 3 {
				s.Blocked(t, 1)
				if n := unblock(t, s, how); n != 1 {
					t.Errorf("unblocked %d connections", n)
				}
			}
			j.GoesOn(t, s)
		})
	}
}

// unblock unblocks all clients that block, and returns how many that were.
func unblock(t *testing.T, s *redistest.Server, how string) int64 {
	t.Helper()
	var n int64
	list, err := redis.String(s.Do(t, "CLIENT", "LIST"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, " cmd=blpop ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			n += s.Do(t, "CLIENT", "UNBLOCK", id, how).(int64)
		}
	}
	return n
}
