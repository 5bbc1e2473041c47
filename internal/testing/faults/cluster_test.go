package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// clusterPrefix has a hash tag: all keys of a client with this prefix are in one slot.
const clusterPrefix = "{app}:"

// Row 16: a cluster that does not serve a slot yet: that passes. Row 17: one in which the keys of a
// call lie in different slots, because the prefix has no tag: that does not.
func TestFaultCluster(t *testing.T) {
	t.Parallel()
	s := locks.Prepared(t, redistest.StartTCP(t, "cluster-enabled yes"))
	open := func() *lock.Client { return locks.Open(t, s.URL(), nil) }
	tagged := open().Mutex("{job}")
	_, err := tagged.TryLock(locks.Soon(t))
	locks.Says(t, "TryLock", err, "CLUSTERDOWN")
	wait := locks.Later(locks.Soon(t), tagged)
	addSlots(t, s, 0, 16383)
	lease, _ := locks.Got(t, wait)

	// A tag in the name is enough for taking the lock, and not for waiting.
	_, err = open().Mutex("{job}").TryLock(locks.Soon(t))
	locks.Is(t, "TryLock", err, lock.ErrHeld)
	_, err = open().Mutex("{job}").Lock(locks.Soon(t))
	clusterHint(t, "Lock of a held lock", err)
	locks.Unlock(t, lease)
	for name, err := range locks.AtOnce(t, open, "") {
		clusterHint(t, name, err)
	}
}

// clusterHint checks that an error of keys in several slots says what to do.
func clusterHint(t *testing.T, what string, err error) {
	t.Helper()
	locks.Says(t, what, err, "CROSSSLOT")
	if !strings.Contains(fmt.Sprint(err), `Prefix: "{app}:"`) {
		t.Errorf("%s: %v: does not say what to do", what, err)
	}
}

// addSlots has a node of a cluster serve slots.
func addSlots(t *testing.T, s *redistest.Server, first, last int) {
	t.Helper()
	args := []any{"ADDSLOTS"}
	for slot := first; slot <= last; slot++ {
		args = append(args, slot)
	}
	s.Do(t, "CLUSTER", args...)
}

// clusterOfThree returns the node of a cluster that serves the slot of clusterPrefix, and another.
func clusterOfThree(t *testing.T) (serves, other *redistest.Server) {
	t.Helper()
	var nodes []*redistest.Server
	for i := range 3 {
		s := locks.Prepared(t, redistest.StartTCP(t, "cluster-enabled yes"))
		addSlots(t, s, i*5461, min((i+1)*5461, 16384)-1)
		nodes = append(nodes, s)
	}
	addSlots(t, nodes[2], 16383, 16383) // three times 5461 is one less than there are
	host, port, err := net.SplitHostPort(nodes[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes[1:] {
		s.Do(t, "CLUSTER", "MEET", host, port)
	}
	for _, s := range nodes {
		redistest.Until(t, "the cluster is whole", func() bool {
			info, err := redis.String(s.Do(t, "CLUSTER", "INFO"), nil)
			return err == nil && strings.Contains(info, "cluster_state:ok")
		})
	}
	slot, err := redis.Int(nodes[0].Do(t, "CLUSTER", "KEYSLOT", clusterPrefix), nil)
	if err != nil {
		t.Fatal(err)
	}
	mine := min(slot/5461, 2)
	return nodes[mine], nodes[(mine+1)%3]
}

// On a real cluster all works under a prefix with a hash tag, waiting too, at the server of its slot.
// Names need no tags of their own.
func TestFaultClusterPrefix(t *testing.T) {
	t.Parallel()
	s, other := clusterOfThree(t)
	events := locks.NewEvents()
	open := func(ttl time.Duration) *lock.Client {
		return locks.Open(t, s.URL(), &lock.Options{Prefix: clusterPrefix, TTL: ttl, Hooks: events.Hooks()})
	}
	a, b := open(0), open(0)
	for _, name := range []string{"job", "reports:nightly", "{other}/tag"} {
		lease := locks.Acquire(t, a.Mutex(name))
		wait := locks.Later(locks.Soon(t), b.Mutex(name))
		s.Blocked(t, 1)
		released := time.Now()
		locks.Unlock(t, lease)
		next, at := locks.Got(t, wait)
		locks.Took(t, name+": the handover", released, at, locks.S/2)
		locks.Unlock(t, next)
	}

	dies := locks.Acquire(t, open(time.Second).MutexWith("job", &lock.MutexOptions{NoRenewal: true}))
	wait := locks.Later(locks.Soon(t), b.Mutex("job"))
	next, at := locks.Got(t, wait)
	locks.Took(t, "after the expiry", dies.Deadline(), at, locks.S/2)
	locks.Unlock(t, next)

	clusterPool(t, s, a, b)
	clusterOperators(t, a)
	if len(events.Degraded) > 0 {
		t.Errorf("waiting was degraded: %v", (<-events.Degraded).Err)
	}
	_, err := locks.Open(t, other.URL(), &lock.Options{Prefix: clusterPrefix}).Mutex("job").TryLock(locks.Soon(t))
	locks.Says(t, "TryLock at another node", err, "MOVED")
}

// clusterPool has one client wait for the only member of a pool, which another holds.
func clusterPool(t *testing.T, s *redistest.Server, a, b *lock.Client) {
	t.Helper()
	p := pool.New(a, "licences", nil)
	if _, _, err := p.Assign(locks.Soon(t), "A-17"); err != nil {
		t.Fatalf("Assign: %v", err)
	}
	held, err := p.TryLock(locks.Soon(t))
	if err != nil {
		t.Fatalf("TryLock of the pool: %v", err)
	}
	done := make(chan error, 1)
	go func() { // ends when it has had the member, or with the test
		done <- pool.New(b, "licences", nil).Do(locks.Soon(t), func(context.Context, string) error { return nil })
	}()
	s.Blocked(t, 1)
	released := time.Now()
	locks.Unlock(t, held.Lease)
	if err := locks.Await(t, "Do of the pool", done); err != nil {
		t.Errorf("Do of the pool: %v", err)
	}
	locks.Took(t, "the pool's handover", released, time.Now(), locks.S/2)
}

// clusterOperators lists, resets and checks.
func clusterOperators(t *testing.T, c *lock.Client) {
	t.Helper()
	lease := locks.Acquire(t, c.Mutex("job"))
	var listed []string
	for o, err := range c.List(locks.Soon(t), lock.Filter{All: true}) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		listed = append(listed, o.Name)
	}
	if fmt.Sprint(listed) != "[job]" {
		t.Errorf("List: %q, want job", listed)
	}
	if _, err := c.ResetAll(locks.Soon(t), lock.Filter{All: true}); err != nil {
		t.Errorf("ResetAll: %v", err)
	}
	if _, err := c.Owner(locks.Soon(t), "job"); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Owner after ResetAll: %v", err)
	}
	_ = lease.Unlock(locks.Soon(t))
	findings, err := c.Check(locks.Soon(t))
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	for _, f := range findings {
		if f.Level == lock.LevelProblem || f.Subject == "cluster" && f.Level != lock.LevelOK {
			t.Errorf("Check: %v", f)
		}
	}
}
