package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 18: the server becomes a replica. Calls say so, waiters and leases wait for its return, and
// the connection is not used again.
// Row 19: what a replica says of the owner is not believed.
func TestFaultReplica(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
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
	other := acquire(t, c.Mutex("other"))
	p := faultProxy(t, s)
	j := newFaultJob(t, p.URL(), 9*time.Second) // the lease must live through all of this
	faultBlocked(t, s, 1)

	p.Set(faultproxy.ToServer, faultproxy.Hold, "") // nobody must meet a master without the lock
	s.Do(t, "REPLICAOF", "127.0.0.1", "1")          // nobody listens there: it keeps its data
	s.Do(t, "CONFIG", "SET", "replica-read-only", "no")
	s.Do(t, "RENAME", "lock:job", "kept") // a replica that has not heard of the lock
	s.Do(t, "CONFIG", "SET", "replica-read-only", "yes")
	p.Heal()

	_, err = c.Mutex("new").TryLock(soon(t))
	faultHasCode(t, "TryLock", err, "READONLY")
	before := dials.Load()
	_, err = c.Mutex("new").TryLock(soon(t))
	faultHasCode(t, "TryLock", err, "READONLY")
	if n := dials.Load() - before; n != 1 {
		t.Errorf("the call after READONLY dialled %d times", n)
	}
	faultIs(t, "Unlock", other.Unlock(soon(t)), lock.ErrUnknown)
	j.Reconnecting(t)
	if err := j.RenewalFailed(t); !redisconn.HasCode(err, "READONLY") {
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
	redistest.Until(t, "the background releases", func() bool { return value(t, s, "lock:other") == "" })
}

// Row 20, without sentinels: a failover to a replica that has the lock. The dialler finds the new
// master, and the lease continues there.
// Row 21: to one that has not. There can be two holders until the next renewal; the older one has the
// smaller token.
func TestFaultFailover(t *testing.T) {
	t.Parallel()
	for _, replicated := range []bool{true, false} {
		t.Run(fmt.Sprintf("replicated %v", replicated), func(t *testing.T) {
			t.Parallel()
			first := faultPrepared(t, redistest.StartTCP(t, "repl-diskless-sync-delay 0"))
			second := faultPrepared(t, redistest.StartTCP(t))
			var master atomic.Pointer[redistest.Server]
			master.Store(first)
			open := func(events *faultEvents) *lock.Client {
				pool := &redis.Pool{Dial: func() (redis.Conn, error) {
					m := master.Load()
					return redis.Dial(m.Network(), m.Addr())
				}}
				c, err := lock.New(pool, &lock.Options{TTL: 3 * time.Second, Hooks: events.hooks()})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			events := newFaultEvents()
			lease := acquire(t, open(events).Mutex("job"))
			events.renewedNow(t)
			if replicated {
				host, port, _ := strings.Cut(first.Addr(), ":")
				second.Do(t, "REPLICAOF", host, port)
				redistest.Until(t, "the replica has the lock", func() bool {
					return value(t, second, "lock:job") == lease.ID()
				})
				second.Do(t, "REPLICAOF", "NO", "ONE")
			}
			master.Store(second)
			host, port, _ := strings.Cut(second.Addr(), ":")
			first.Do(t, "REPLICAOF", host, port)
			if replicated {
				events.renewedNow(t)
				if !lease.Valid() {
					t.Errorf("lost by the failover: %v", lease.Err())
				}
				// The calls' connection still goes to the old master: that is noticed now.
				if err := lease.Unlock(soon(t)); err != nil && !errors.Is(err, lock.ErrUnknown) {
					t.Errorf("Unlock: %v", err)
				}
				redistest.Until(t, "it is released", func() bool { return value(t, second, "lock:job") == "" })
				return
			}
			next := acquire(t, open(newFaultEvents()).Mutex("job"))
			faultIs(t, "Lost", await(t, "Lost", events.lost).Err, lock.ErrLost, renewal.ErrNotOwner)
			if next.Fence() <= lease.Fence() {
				t.Errorf("fences: %d, after the failover %d", lease.Fence(), next.Fence())
			}
			unlock(t, next)
		})
	}
}

// Row 24: the server forgets its scripts all the time. Nobody notices, renewals included.
func TestFaultScriptFlush(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	events := newFaultEvents()
	c := faultMet(t, s.URL(), &lock.Options{TTL: 900 * time.Millisecond, Hooks: events.hooks()})
	kept := acquire(t, c.Mutex("kept"))
	stop := make(chan struct{})
	flushes := 0
	var all sync.WaitGroup
	all.Go(func() {
		conn, err := redis.Dial(s.Network(), s.Addr())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for tick := time.Tick(3 * time.Millisecond); ; <-tick {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := conn.Do("SCRIPT", "FLUSH"); err != nil {
				t.Error(err)
				return
			}
			flushes++
		}
	})
	var jobs sync.WaitGroup
	for i := range 4 {
		jobs.Go(func() {
			for range 50 {
				err := c.Do(soon(t), fmt.Sprint("job-", i%2), func(context.Context) error { return nil })
				if err != nil {
					t.Errorf("Do: %v", err)
				}
			}
		})
	}
	for range 5 {
		events.renewedNow(t)
	}
	jobs.Wait()
	close(stop)
	all.Wait()
	t.Logf("%d flushes beside 200 calls of Do and 5 renewals", flushes)
	if len(events.failed) > 0 || !kept.Valid() {
		t.Errorf("%d renewals failed, the lease is valid: %v", len(events.failed), kept.Valid())
	}
	unlock(t, kept)
}

// Row 26: the program has used up its own pool. Locks have their own connections.
func TestFaultPoolExhausted(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	pool := s.Pool(t)
	pool.MaxActive, pool.Wait = 1, true
	conn := pool.Get()
	defer conn.Close()
	if _, err := conn.Do("PING"); err != nil {
		t.Fatal(err)
	}
	open := func(e *faultEvents) *lock.Client {
		c, err := lock.New(pool, &lock.Options{TTL: 2000 * time.Millisecond, Hooks: e.hooks()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	events, waiting := newFaultEvents(), newFaultEvents()
	lease := acquire(t, open(events).Mutex("job"))
	wait := faultLock(soon(t), open(waiting).Mutex("job"))
	await(t, "Waiting", waiting.waiting)
	began := time.Now()
	for range 3 {
		events.renewedNow(t)
	}
	t.Logf("3 renewals, one for each third of 2 s, took %v", time.Since(began))
	unlock(t, lease)
	got, _ := faultGot(t, wait)
	_ = got.Unlock(soon(t))
}

// Row 24 too: a name that is new to a connection that waits is served at once, though Redis has forgotten
// the script by which the connection is called.
func TestFaultScriptFlushBeforeAWake(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	holder := faultMet(t, s.URL(), nil)
	a, b := acquire(t, holder.Mutex("a")), acquire(t, holder.Mutex("b"))
	c := faultMet(t, p.URL(), nil)
	first := faultLock(soon(t), c.Mutex("a"))
	faultBlocked(t, s, 1)
	text := p.Catch(faultproxy.Tell, "EVAL\r\n", "lock-inbox:")
	s.Do(t, "SCRIPT", "FLUSH")
	second := faultLock(soon(t), c.Mutex("b"))
	await(t, "the call by the script's text", text.Done())
	unlock(t, a)
	unlock(t, b)
	for _, got := range []<-chan faultResult{first, second} {
		lease, _ := faultGot(t, got)
		unlock(t, lease)
	}
}
