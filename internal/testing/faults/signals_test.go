package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// blocksOn returns a catch for the next blocking read of this name's signal.
func blocksOn(p *faultproxy.Proxy, name string) *faultproxy.Catch {
	return p.Catch(faultproxy.Tell, "BLPOP", "lock-signal:"+name+"\r\n")
}

// Row 10: the connection is cut when the signal is on its way. Somebody who waits acquires by a look.
// Row 29: it is half open. Until that is noticed, when the read is over its time (see TestReadIsGivenUp),
// its waiters live by the looks, which go another way.
func TestFaultSignalLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		before  func(p *faultproxy.Proxy) // when everybody waits
		after   func(p *faultproxy.Proxy) // when the lock is free
		another bool                      // another client waits
		limit   time.Duration
	}{
		{
			"cut, alone",
			func(p *faultproxy.Proxy) { p.Set(faultproxy.ToClient, faultproxy.Hold, "BLPOP") },
			func(p *faultproxy.Proxy) { p.Reset("BLPOP") },
			false, locks.S + locks.R,
		},
		{
			"cut, another waits",
			func(p *faultproxy.Proxy) { p.Set(faultproxy.ToClient, faultproxy.Hold, "BLPOP") },
			func(p *faultproxy.Proxy) { p.Reset("BLPOP") },
			true, locks.S + locks.R,
		},
		{
			"half open, alone",
			func(p *faultproxy.Proxy) { p.Partition("BLPOP") },
			func(*faultproxy.Proxy) {},
			false, locks.S + locks.Slack,
		},
		{
			"half open, another waits",
			func(p *faultproxy.Proxy) { p.Partition("BLPOP") },
			func(*faultproxy.Proxy) {},
			true, locks.S + locks.Slack,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p, clean := locks.Proxy(t, s), locks.Proxy(t, s)
			lease := locks.Acquire(t, locks.Met(t, s.URL(), nil).Mutex("job"))
			results := make(chan locks.Result, 2)
			wait := func(p *faultproxy.Proxy) {
				client := locks.Met(t, p.URL(), nil)
				blocks := blocksOn(p, "job")
				go func() { results <- <-locks.Later(locks.Soon(t), client.Mutex("job")) }()
				locks.Await(t, "the waiter blocks", blocks.Done())
			}
			wait(p)
			s.Blocked(t, 1)
			c.before(p)
			if c.another {
				wait(clean)
			}
			locks.Unlock(t, lease)
			released := time.Now()
			c.after(p)
			got, at := locks.Got(t, results)
			gap := locks.Took(t, "the next waiter", released, at, c.limit)
			t.Logf("free while waited for: %v", gap)
			p.Heal()
			locks.Unlock(t, got)
			if c.another {
				got, _ = locks.Got(t, results)
				locks.Unlock(t, got)
			}
		})
	}
}

// Row 12: the call by which a wait connection is told of a new name is lost. The name is served from
// its next look on.
func TestFaultInboxPushLost(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	holder := locks.Met(t, s.URL(), nil)
	first, second := locks.Acquire(t, holder.Mutex("first")), locks.Acquire(t, holder.Mutex("second"))
	c := locks.Met(t, p.URL(), nil)
	waitFirst := locks.Later(locks.Soon(t), c.Mutex("first"))
	s.Blocked(t, 1)
	lost := p.Catch(faultproxy.CutRequest, wire.Look, "wake")
	waitSecond := locks.Later(locks.Soon(t), c.Mutex("second"))
	locks.Await(t, "the push", lost.Done())
	locks.Unlock(t, second)
	released := time.Now()
	got, at := locks.Got(t, waitSecond)
	t.Logf("served after %v", locks.Took(t, "the new name", released, at, locks.S+locks.Slack))
	locks.Unlock(t, got)
	locks.Unlock(t, first)
	got, _ = locks.Got(t, waitFirst)
	locks.Unlock(t, got)
}

// Row 28: signals that mean nothing. They give nobody the lock and prolong nobody's waiting.
func TestFaultSpuriousSignals(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	holder, c := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
	lease := locks.Acquire(t, holder.Mutex("job"))
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	began := time.Now()
	wait := locks.Later(ctx, c.Mutex("job"))
	conn := s.Dial(t)
	for pushes := 0; ; pushes++ {
		select {
		case r := <-wait:
			locks.Is(t, "Lock", r.Err, context.DeadlineExceeded, lock.ErrHeld)
			took := locks.Took(t, "Lock", began, r.At, 700*time.Millisecond+locks.Slack)
			t.Logf("%d signals, and Lock ended %v after its time", pushes, took-700*time.Millisecond)
			locks.Unlock(t, lease)
			return
		default:
			if _, err := conn.Do("LPUSH", "lock-signal:job", "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
