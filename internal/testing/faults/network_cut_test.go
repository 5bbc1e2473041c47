package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 36: the network is cut for P seconds. A call that was given up meanwhile lies in the kernel, which
// sends it again long after its connection was closed: after 6.2, 12.6, 25.4 s since it was written. Where
// the next connection ends that one, or where it was reset, nothing of it is executed. Elsewhere nothing is
// left of it some seconds later.
func TestFaultCutNetwork(t *testing.T) {
	t.Parallel()
	cuts := []cutNetwork{{7500 * time.Millisecond, 10 * time.Second}, {9 * time.Second, 8500 * time.Millisecond}}
	if locks.Size(0, 1) == 1 {
		for p := 3; p <= 15; p++ {
			cuts = append(cuts, cutNetwork{time.Duration(p) * time.Second, 122*time.Second - time.Duration(p)*time.Second})
		}
	}
	var all sync.WaitGroup
	for _, cut := range cuts {
		n := redistest.StartNamespace(t, cutUsers...)
		all.Go(func() { cut.run(t, n) })
	}
	all.Wait()
}

// A cutNetwork is how long the network is cut, and how long after it nothing may be left.
type cutNetwork struct{ length, after time.Duration }

// cutUsers are who connects: with the right to end other connections, and without it.
var cutUsers = []string{
	"user kills on nopass ~* &* +@all",
	"user dull on nopass ~* &* +@all -client|kill",
}

// A cutWay is a way to Redis, by what keeps a late command from doing harm there.
type cutWay struct {
	name, user string
	dial       redistest.DialFunc
	never      bool // it is never executed
}

var cutWays = []cutWay{
	{"kill", "kills", (&net.Dialer{}).DialContext, true},
	{"reset", "dull", lock.NetDial(nil), true},
	{"nothing but late clean-ups", "dull", (&net.Dialer{}).DialContext, false},
}

// cutCalls are given up in the cut; each returns what may be found at the lock later, beside nothing.
var cutCalls = map[string]func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string{
	"Lock": func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string {
		<-cut
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Mutex(name).Lock(ctx)
		locks.Is(t, "Lock", err, lock.ErrUnknown)
		return ""
	},
	"TryLock": func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string {
		<-cut
		lease, err := c.Mutex(name).TryLock(t.Context())
		if err == nil { // its repeat came when the network was whole
			err = lease.Unlock(t.Context())
		}
		if err != nil && !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("TryLock: %v", err)
		}
		return ""
	},
	"Unlock": func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string {
		<-cut
		lease, err := c.Mutex(name).Lock(t.Context()) // it is repeated until the network is whole
		if err == nil {
			err = lease.Unlock(t.Context())
		}
		if err != nil && !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("Lock and Unlock: %v", err)
		}
		return ""
	},
	"Block": func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string {
		<-cut
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		locks.Is(t, "Block", c.Block(ctx, name, time.Hour), lock.ErrUnknown)
		return ""
	},
	"Adopt": func(t *testing.T, c *lock.Client, name string, cut <-chan struct{}) string {
		lease, err := c.Mutex(name).TryLock(t.Context())
		if err != nil {
			t.Error(err)
			return ""
		}
		id, err := lease.Detach(t.Context())
		if err != nil {
			t.Error(err)
		}
		<-cut
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Mutex(name).Adopt(ctx, id)
		locks.Is(t, "Adopt", err, lock.ErrUnknown)
		return id
	},
}

// A cutLeft is what a call that was given up may leave.
type cutLeft struct {
	name, may string
	never     bool
	seen      string // the id that was there although nobody had it
}

// run lets every call be given up in a cut, on every way, and looks what is left.
func (n cutNetwork) run(t *testing.T, space *redistest.Namespace) {
	cut := make(chan struct{})
	var ready, calls sync.WaitGroup
	var mu sync.Mutex // guards the next one
	var all []*cutLeft
	for _, way := range cutWays {
		for call, do := range cutCalls {
			c := cutClient(t, space, way.user, way.dial)
			name := way.name + ": " + call
			if _, err := c.Owner(t.Context(), name); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Owner: %v", err)
				return
			}
			ready.Add(1)
			calls.Go(func() {
				begin := make(chan struct{})
				go func() { ready.Done(); <-cut; close(begin) }()
				may := do(t, c, name, begin)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, &cutLeft{name: name, may: may, never: way.never})
			})
		}
	}
	ready.Wait()
	locks.Pause(300 * time.Millisecond) // Adopt takes its lock
	space.Cut(t)
	close(cut)
	locks.Pause(n.length)
	space.Heal(t)
	healed := time.Now()
	c := space.Server.Dial(t)
	for time.Since(healed) < n.after {
		locks.Pause(50 * time.Millisecond)
		mu.Lock()
		for _, l := range all {
			if id, err := redis.String(c.Do("GET", "lock:"+l.name)); err == nil && id != l.may &&
				time.Since(healed) > locks.R {
				l.seen = id
			}
		}
		mu.Unlock()
	}
	calls.Wait()
	for _, l := range all {
		if id, err := redis.String(c.Do("GET", "lock:"+l.name)); err == nil && id != l.may {
			t.Errorf("%v after a cut of %v the lock of %q is held by nobody: %s", n.after, n.length, l.name, id)
		}
		if l.never && l.seen != "" {
			t.Errorf("after a cut of %v the lock of %q was held by nobody for a while: %s", n.length, l.name, l.seen)
		}
	}
}

// cutClient returns a client inside a namespace, by a program's own pool.
func cutClient(t *testing.T, space *redistest.Namespace, user string, dial redistest.DialFunc) *lock.Client {
	t.Helper()
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		url := fmt.Sprintf("redis://%s:x@%s", user, space.Addr)
		return redis.DialURLContext(ctx, url, redis.DialContextFunc(space.Dial(dial)))
	}}
	c, err := lock.New(pool, &lock.Options{Label: strings.ReplaceAll(user, " ", "-")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
