package containers_test

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/containers"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// A job is one whose Redis is in a container. Its clients talk to the container's own address: the
// published port accepts connections for a server that is paused.
type job struct {
	*locks.Job
	server *containers.Server
}

func newJob(t *testing.T, ttl time.Duration, conf ...string) *job {
	t.Helper()
	j := &job{server: containers.Start(t, conf...)}
	if _, err := j.server.ContainerAddr(); err != nil {
		redistest.Skip(t, err.Error())
	}
	if conn, err := j.dial(); err != nil {
		redistest.Skip(t, "the container cannot be reached at its own address: "+err.Error())
	} else {
		conn.Close()
	}
	j.Job = locks.NewJob(t, ttl, func(o *lock.Options) *lock.Client { return j.open(t, o) })
	j.Renewed(t) // all connections are there
	return j
}

// dial goes to where the container is now. It does not try where it was: another container can have that
// address while it has none.
func (j *job) dial() (redis.Conn, error) {
	addr, err := j.server.ContainerAddr()
	if err != nil {
		return nil, err
	}
	return redis.Dial("tcp", addr, redis.DialConnectTimeout(500*time.Millisecond))
}

func (j *job) open(t *testing.T, o *lock.Options) *lock.Client {
	t.Helper()
	client, err := lock.New(&redis.Pool{Dial: j.dial}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// cuts are the ways in which a container does not answer, and how it does so again.
var cuts = []struct {
	name    string
	off, on func(*containers.Server, testing.TB)
	conf    []string
}{
	{"paused", (*containers.Server).Stop, (*containers.Server).Continue, nil},
	{"disconnected", (*containers.Server).Disconnect, (*containers.Server).Connect, nil},
	{
		"killed and started", (*containers.Server).Kill, (*containers.Server).Restart,
		[]string{"appendonly yes", "appendfsync always"},
	},
}

// Rows 13, 15 and 29, in a container: it does not answer for less than the validity. Nothing is lost,
// and the release wakes who waits.
func TestFaultContainerBack(t *testing.T) {
	t.Parallel()
	for _, cut := range cuts {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 6*time.Second, cut.conf...)
			began := time.Now()
			cut.off(j.server, t)
			j.RenewalFailed(t)
			cut.on(j.server, t)
			t.Logf("away for %v", time.Since(began))
			j.GoesOn(t, j.server.Server)
		})
	}
}

// Rows 3, 6 and 15, in a container: it does not answer for longer than that. The holder is told when
// its lease is over, before anybody else can acquire; who waits acquires when it is back.
func TestFaultContainerAwayTooLong(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	for _, cut := range cuts {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, ttl, cut.conf...)
			ctx, cancel := j.Lease.Context(context.Background())
			defer cancel()
			cut.off(j.server, t)
			<-ctx.Done()
			told := time.Now()
			locks.Took(t, "to be told after the deadline", j.Lease.Deadline(), told, locks.Slack)
			locks.Is(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrExpired)
			cut.on(j.server, t)
			on := time.Now()
			next, at := j.Next(t)
			t.Logf("acquired %v after it was back", locks.Took(t, "the waiter", on, at, ttl+locks.S+locks.R))
			if at.Before(told) {
				t.Errorf("acquired %v before the holder was told", told.Sub(at))
			}
			if next.Fence() <= j.Lease.Fence() {
				t.Errorf("fences: %d, then %d", j.Lease.Fence(), next.Fence())
			}
			locks.Is(t, "Unlock", j.Lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
			locks.Unlock(t, next)
		})
	}
}

// Row 14, in a container: it is started anew, and has forgotten everything. The holder is told at its
// next renewal.
func TestFaultContainerEmpty(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second // longer than the start takes
	j := newJob(t, ttl)
	j.server.Restart(t)
	up := time.Now()
	lost := j.Lost(t)
	t.Logf("told after %v", locks.Took(t, "to be told", up, time.Now(), ttl/3+ttl/6+locks.Slack))
	locks.Is(t, "Lost", lost, lock.ErrLost, renewal.ErrNotOwner)
	next, at := j.Next(t)
	locks.Took(t, "the waiter", up, at, locks.S+locks.R)
	if next.Fence() <= j.Lease.Fence() {
		t.Errorf("fences: %d, after the restart %d", j.Lease.Fence(), next.Fence())
	}
	locks.Unlock(t, next)
}
