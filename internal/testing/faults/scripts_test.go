package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 24: the server forgets its scripts all the time. Nobody notices, renewals included.
func TestFaultScriptFlush(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	events := locks.NewEvents()
	c := locks.Met(t, s.URL(), &lock.Options{TTL: 900 * time.Millisecond, Hooks: events.Hooks()})
	kept := locks.Acquire(t, c.Mutex("kept"))
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
				err := c.Do(locks.Soon(t), fmt.Sprint("job-", i%2), func(context.Context) error { return nil })
				if err != nil {
					t.Errorf("Do: %v", err)
				}
			}
		})
	}
	for range 5 {
		events.RenewedNow(t)
	}
	jobs.Wait()
	close(stop)
	all.Wait()
	t.Logf("%d flushes beside 200 calls of Do and 5 renewals", flushes)
	if len(events.Failed) > 0 || !kept.Valid() {
		t.Errorf("%d renewals failed, the lease is valid: %v", len(events.Failed), kept.Valid())
	}
	locks.Unlock(t, kept)
}

// Row 24 too: a name that is new to a connection that waits is served at once, though Redis has forgotten
// the script by which the connection is called.
func TestFaultScriptFlushBeforeAWake(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	holder := locks.Met(t, s.URL(), nil)
	a, b := locks.Acquire(t, holder.Mutex("a")), locks.Acquire(t, holder.Mutex("b"))
	c := locks.Met(t, p.URL(), nil)
	first := locks.Later(locks.Soon(t), c.Mutex("a"))
	s.Blocked(t, 1)
	text := p.Catch(faultproxy.Tell, "EVAL\r\n", "lock-inbox:")
	s.Do(t, "SCRIPT", "FLUSH")
	second := locks.Later(locks.Soon(t), c.Mutex("b"))
	locks.Await(t, "the call by the script's text", text.Done())
	locks.Unlock(t, a)
	locks.Unlock(t, b)
	for _, got := range []<-chan locks.Result{first, second} {
		lease, _ := locks.Got(t, got)
		locks.Unlock(t, lease)
	}
}

// Row 17: a server that does not know scripts. That does not pass, and what the server quotes of the call,
// an owner's id among it, is in no error.
func TestFaultNoScripts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, `rename-command EVALSHA ""`, `rename-command EVAL ""`)
	open := func() *lock.Client { return locks.Open(t, s.URL(), &lock.Options{Label: "telltale"}) }
	for name, err := range locks.AtOnce(t, open, "telltale") {
		locks.Says(t, name, err, "unknown command")
	}
}
