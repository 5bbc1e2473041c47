package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// A faultContainer is a Redis in a container, with a holder that renews and a waiter. They talk to the
// container's own address: the published port accepts connections for a server that is paused.
type faultContainer struct {
	*faultJob
	server *redistest.Server
}

func newFaultContainer(t *testing.T, ttl time.Duration, conf ...string) *faultContainer {
	t.Helper()
	c := &faultContainer{server: redistest.StartDocker(t, conf...)}
	if _, err := c.server.ContainerAddr(t); err != nil {
		redistest.Skip(t, err.Error())
	}
	if conn, err := c.dial(t); err != nil {
		redistest.Skip(t, "the container cannot be reached at its own address: "+err.Error())
	} else {
		conn.Close()
	}
	c.faultJob = &faultJob{holder: newFaultEvents(), waiter: newFaultEvents()}
	c.lease = acquire(t, c.open(t, ttl, c.holder).Mutex("job"))
	c.wait = faultLock(soon(t), c.open(t, ttl, c.waiter).Mutex("job"))
	await(t, "Waiting", c.waiter.waiting)
	c.holder.renewedNow(t) // all connections are there
	return c
}

// dial goes to where the container is now. It does not try where it was: another container can have that
// address while it has none.
func (c *faultContainer) dial(t *testing.T) (redis.Conn, error) {
	addr, err := c.server.ContainerAddr(t)
	if err != nil {
		return nil, err
	}
	return redis.Dial("tcp", addr, redis.DialConnectTimeout(500*time.Millisecond))
}

func (c *faultContainer) open(t *testing.T, ttl time.Duration, events *faultEvents) *lock.Client {
	t.Helper()
	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return c.dial(t) }}
	client, err := lock.New(pool, &lock.Options{TTL: ttl, Hooks: events.hooks()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// faultCut are the ways in which a container does not answer, and how it does so again.
var faultCut = []struct {
	name    string
	off, on func(*redistest.Server, testing.TB)
	conf    []string
}{
	{"paused", (*redistest.Server).Stop, (*redistest.Server).Continue, nil},
	{"disconnected", (*redistest.Server).Disconnect, (*redistest.Server).Connect, nil},
	{
		"killed and started", (*redistest.Server).Kill, (*redistest.Server).Restart,
		[]string{"appendonly yes", "appendfsync always"},
	},
}

// Rows 13, 15 and 29, in a container: it does not answer for less than the validity. Nothing is lost,
// and the release wakes who waits.
func TestFaultContainerBack(t *testing.T) {
	t.Parallel()
	for _, cut := range faultCut {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			c := newFaultContainer(t, 6*time.Second, cut.conf...)
			began := time.Now()
			cut.off(c.server, t)
			await(t, "a renewal fails", c.holder.failed)
			cut.on(c.server, t)
			t.Logf("away for %v", time.Since(began))
			c.goesOn(t, c.server)
		})
	}
}

// Rows 3, 6 and 15, in a container: it does not answer for longer than that. The holder is told when
// its lease is over, before anybody else can acquire; who waits acquires when it is back.
func TestFaultContainerAwayTooLong(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	for _, cut := range faultCut {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			c := newFaultContainer(t, ttl, cut.conf...)
			ctx, cancel := c.lease.Context(context.Background())
			defer cancel()
			cut.off(c.server, t)
			await(t, "the context's end", ctx.Done())
			told := time.Now()
			faultTook(t, "to be told after the deadline", c.lease.Deadline(), told, faultSlack)
			faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired)
			cut.on(c.server, t)
			on := time.Now()
			next, at := faultGot(t, c.wait)
			t.Logf("acquired %v after it was back", faultTook(t, "the waiter", on, at, ttl+faultS+faultR))
			if at.Before(told) {
				t.Errorf("acquired %v before the holder was told", told.Sub(at))
			}
			if next.Fence() <= c.lease.Fence() {
				t.Errorf("fences: %d, then %d", c.lease.Fence(), next.Fence())
			}
			faultIs(t, "Unlock", c.lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
			unlock(t, next)
		})
	}
}

// Row 14, in a container: it is started anew, and has forgotten everything. The holder is told at its
// next renewal.
func TestFaultContainerEmpty(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second // longer than the start takes
	c := newFaultContainer(t, ttl)
	c.server.Restart(t)
	up := time.Now()
	lost := await(t, "Lost", c.holder.lost)
	t.Logf("told after %v", faultTook(t, "to be told", up, time.Now(), ttl/3+ttl/6+faultSlack))
	faultIs(t, "Lost", lost.Err, lock.ErrLost, renewal.ErrNotOwner)
	next, at := faultGot(t, c.wait)
	faultTook(t, "the waiter", up, at, faultS+faultR)
	if next.Fence() <= c.lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", c.lease.Fence(), next.Fence())
	}
	unlock(t, next)
}
