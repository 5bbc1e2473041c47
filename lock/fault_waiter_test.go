package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// faultBlocks returns a catch for the next blocking read of this name's signal.
func faultBlocks(p *faultproxy.Proxy, name string) *faultproxy.Catch {
	return p.Catch(faultproxy.Tell, "BLPOP", "lock-signal:"+name+"\r\n")
}

// Row 10: the process that a signal wakes is dead, or as good as. The next waiter acquires by its own
// look.
func TestFaultWokenProcessDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		after func(t *testing.T, woken *faultProcess) // when the signal has gone to it
	}{
		{"killed", func(_ *testing.T, woken *faultProcess) { woken.kill() }},
		{"stopped", func(*testing.T, *faultProcess) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			holder, next := faultMet(t, s.URL(), nil), faultMet(t, p.URL(), nil)
			var gaps []time.Duration
			for range 2 {
				lease := acquire(t, holder.Mutex("job"))
				woken := faultStart(t, s.URL())
				woken.tell(t, "wait 20s job")
				woken.says(t, "waiting")
				faultBlocked(t, s, 1)
				woken.stop(t) // it blocks in Redis still, as the first
				blocks := faultBlocks(p, "job")
				wait := faultLock(soon(t), next.Mutex("job"))
				await(t, "the next waiter blocks", blocks.Done())
				unlock(t, lease)
				released := time.Now()
				c.after(t, woken)
				got, at := faultGot(t, wait)
				gaps = append(gaps, faultTook(t, "the next waiter", released, at, faultS+faultR))
				unlock(t, got)
				woken.kill()
				redistest.Until(t, "Redis has seen the end", func() bool {
					return s.Clients(t, "holdfast:"+faultVictim) == 0
				})
			}
			median, most := faultSpread(gaps)
			t.Logf("free while waited for: median %v, at most %v, n = %d", median, most, len(gaps))
		})
	}
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
			false, faultS + faultR,
		},
		{
			"cut, another waits",
			func(p *faultproxy.Proxy) { p.Set(faultproxy.ToClient, faultproxy.Hold, "BLPOP") },
			func(p *faultproxy.Proxy) { p.Reset("BLPOP") },
			true, faultS + faultR,
		},
		{
			"half open, alone",
			func(p *faultproxy.Proxy) { p.Partition("BLPOP") },
			func(*faultproxy.Proxy) {},
			false, faultS + faultSlack,
		},
		{
			"half open, another waits",
			func(p *faultproxy.Proxy) { p.Partition("BLPOP") },
			func(*faultproxy.Proxy) {},
			true, faultS + faultSlack,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p, clean := faultProxy(t, s), faultProxy(t, s)
			lease := acquire(t, faultMet(t, s.URL(), nil).Mutex("job"))
			results := make(chan faultResult, 2)
			wait := func(p *faultproxy.Proxy) {
				client := faultMet(t, p.URL(), nil)
				blocks := faultBlocks(p, "job")
				go func() { results <- <-faultLock(soon(t), client.Mutex("job")) }()
				await(t, "the waiter blocks", blocks.Done())
			}
			wait(p)
			faultBlocked(t, s, 1)
			c.before(p)
			if c.another {
				wait(clean)
			}
			unlock(t, lease)
			released := time.Now()
			c.after(p)
			got, at := faultGot(t, results)
			gap := faultTook(t, "the next waiter", released, at, c.limit)
			t.Logf("free while waited for: %v", gap)
			p.Heal()
			unlock(t, got)
			if c.another {
				got, _ = faultGot(t, results)
				unlock(t, got)
			}
		})
	}
}

// Row 12: the call by which a wait connection is told of a new name is lost. The name is served from
// its next look on.
func TestFaultInboxPushLost(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	holder := faultMet(t, s.URL(), nil)
	first, second := acquire(t, holder.Mutex("first")), acquire(t, holder.Mutex("second"))
	c := faultMet(t, p.URL(), nil)
	waitFirst := faultLock(soon(t), c.Mutex("first"))
	faultBlocked(t, s, 1)
	lost := p.Catch(faultproxy.CutRequest, scripts.Look.SHA1, "wake")
	waitSecond := faultLock(soon(t), c.Mutex("second"))
	await(t, "the push", lost.Done())
	unlock(t, second)
	released := time.Now()
	got, at := faultGot(t, waitSecond)
	t.Logf("served after %v", faultTook(t, "the new name", released, at, faultS+faultSlack))
	unlock(t, got)
	unlock(t, first)
	got, _ = faultGot(t, waitFirst)
	unlock(t, got)
}

// Row 28: signals that mean nothing. They give nobody the lock and prolong nobody's waiting.
func TestFaultSpuriousSignals(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	holder, c := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
	lease := acquire(t, holder.Mutex("job"))
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	began := time.Now()
	wait := faultLock(ctx, c.Mutex("job"))
	conn := s.Dial(t)
	for pushes := 0; ; pushes++ {
		select {
		case r := <-wait:
			faultIs(t, "Lock", r.err, context.DeadlineExceeded, lock.ErrHeld)
			took := faultTook(t, "Lock", began, r.at, 700*time.Millisecond+faultSlack)
			t.Logf("%d signals, and Lock ended %v after its time", pushes, took-700*time.Millisecond)
			unlock(t, lease)
			return
		default:
			if _, err := conn.Do("LPUSH", "lock-signal:job", "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
