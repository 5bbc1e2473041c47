package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/scripts"
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
				lease := faultTake(t, holder.Mutex("job"))
				woken := faultStart(t, s.URL())
				woken.tell(t, "wait 20s job")
				woken.says(t, "waiting")
				faultBlocked(t, s, 1)
				woken.stop(t) // it blocks in Redis for up to 0.9 s still, as the first
				blocks := faultBlocks(p, "job")
				wait := faultLock(faultSoon(t), next.Mutex("job"))
				faultAwait(t, "the next waiter blocks", blocks.Done())
				faultUnlock(t, lease)
				released := time.Now()
				c.after(t, woken)
				got, at := faultGot(t, wait)
				gaps = append(gaps, faultTook(t, "the next waiter", released, at, faultS+faultR))
				faultUnlock(t, got)
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
// Row 29: it is half open. That is noticed when the read is over its time.
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
			false, faultS + 500*time.Millisecond + faultSlack,
		},
		{
			"half open, another waits",
			func(p *faultproxy.Proxy) { p.Partition("BLPOP") },
			func(*faultproxy.Proxy) {},
			true, faultS + 500*time.Millisecond + faultSlack,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p, clean := faultProxy(t, s), faultProxy(t, s)
			lease := faultTake(t, faultMet(t, s.URL(), nil).Mutex("job"))
			results := make(chan faultResult, 2)
			wait := func(p *faultproxy.Proxy) {
				client := faultMet(t, p.URL(), nil)
				blocks := faultBlocks(p, "job")
				go func() { results <- <-faultLock(faultSoon(t), client.Mutex("job")) }()
				faultAwait(t, "the waiter blocks", blocks.Done())
			}
			wait(p)
			faultBlocked(t, s, 1)
			c.before(p)
			if c.another {
				wait(clean)
			}
			faultUnlock(t, lease)
			released := time.Now()
			c.after(p)
			got, at := faultGot(t, results)
			gap := faultTook(t, "the next waiter", released, at, c.limit)
			t.Logf("free while waited for: %v", gap)
			p.Heal()
			faultUnlock(t, got)
			if c.another {
				got, _ = faultGot(t, results)
				faultUnlock(t, got)
			}
		})
	}
}

// Row 11: a waiter leaves about when the signal comes. The signal is not lost: another program that
// waits for nothing but the signal hears of it, always.
func TestFaultCancelAroundSignal(t *testing.T) {
	t.Parallel()
	const rounds = 500
	s := faultServer(t)
	f := newFaultRounds(t)
	p := faultProxy(t, s)
	holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, p.URL(), nil)
	other, admin := s.Dial(t), s.Dial(t)
	got := 0
	for round := range rounds {
		name := fmt.Sprint("job-", round) // none of them has an old signal
		lease := faultTake(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := faultBlocks(p, name)
		wait := faultLock(ctx, waiter.Mutex(name))
		faultAwait(t, "the waiter blocks", blocks.Done())
		heard := make(chan error, 1)
		go func() {
			_, err := redis.Strings(other.Do("BLPOP", "lock-signal:"+name, 9))
			heard <- err
		}()
		redistest.Until(t, "both block", func() bool { return faultBlockedNow(t, admin) == 2 })
		f.unlockAndCancel(t, lease, cancel)
		if r := faultAwait(t, "the waiter", wait); r.err == nil {
			got++
			faultUnlock(t, r.lease)
		} else if !errors.Is(r.err, context.Canceled) {
			t.Fatalf("the waiter: %v", r.err)
		}
		if err := faultAwait(t, "the signal", heard); err != nil {
			t.Fatalf("round %d: the signal was lost: %v", round, err)
		}
	}
	t.Logf("%d waiters of %d got the lock", got, rounds)
}

// Row 11: a waiter leaves when it has heard the signal and its acquire could not be sent yet. The
// signal is given back.
func TestFaultCancelBeforeAcquire(t *testing.T) {
	t.Parallel()
	const rounds = 10
	s := faultServer(t)
	p := faultProxy(t, s)
	holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, p.URL(), nil)
	other, admin := s.Dial(t), s.Dial(t)
	for round := range rounds {
		name := fmt.Sprint("job-", round)
		lease := faultTake(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := faultBlocks(p, name)
		wait := faultLock(ctx, waiter.Mutex(name))
		faultAwait(t, "the waiter blocks", blocks.Done())
		heard := make(chan error, 1)
		go func() {
			_, err := redis.Strings(other.Do("BLPOP", "lock-signal:"+name, 9))
			heard <- err
		}()
		redistest.Until(t, "both block", func() bool { return faultBlockedNow(t, admin) == 2 })

		busy := p.Catch(faultproxy.HoldReply, scripts.Owner.SHA1) // calls wait for this one
		asked := make(chan error, 1)
		go func() {
			_, err := waiter.Owner(faultSoon(t), "nothing")
			asked <- err
		}()
		faultAwait(t, "the call that takes long", busy.Done())
		before := p.Bytes(faultproxy.ToClient)
		faultUnlock(t, lease)
		redistest.Until(t, "the signal has come", func() bool { return p.Bytes(faultproxy.ToClient) > before })
		faultPause(time.Millisecond) // now its acquire stands in line
		cancel()
		r := faultAwait(t, "the waiter", wait)
		faultIs(t, "Lock", r.err, context.Canceled)
		busy.Release()
		faultIs(t, "Owner", faultAwait(t, "the call that takes long", asked), lock.ErrNotHeld)
		if err := faultAwait(t, "the signal", heard); err != nil {
			t.Fatalf("round %d: the signal was lost: %v", round, err)
		}
	}
}

// Row 11, with waiters of holdfast's behind the one that leaves: in the same client or another. They
// acquire at once, not by their look.
func TestFaultCancelAmongWaiters(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same client %v", same), func(t *testing.T) {
			t.Parallel()
			const rounds = 250
			s := faultServer(t)
			f := newFaultRounds(t)
			p := faultProxy(t, s)
			holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, p.URL(), nil)
			next := waiter
			if !same {
				next = faultMet(t, p.URL(), nil)
			}
			var gaps []time.Duration
			slow := 0
			for round := 0; round < rounds && slow <= rounds/50; round++ {
				name := fmt.Sprint("job-", round)
				lease := faultTake(t, holder.Mutex(name))
				ctx, cancel := context.WithCancel(context.Background())
				blocks := faultBlocks(p, name)
				leaves := faultLock(ctx, waiter.Mutex(name))
				var stays <-chan faultResult
				faultAwait(t, "it blocks", blocks.Done())
				if same { // there it stands in line, which makes no noise
					stays = faultLock(faultSoon(t), next.Mutex(name))
				} else {
					blocks = faultBlocks(p, name)
					stays = faultLock(faultSoon(t), next.Mutex(name))
					faultAwait(t, "both block", blocks.Done())
				}
				free := f.unlockAndCancel(t, lease, cancel)
				if r := faultAwait(t, "who leaves", leaves); r.err == nil {
					free = time.Now()
					faultUnlock(t, r.lease)
				}
				got, at := faultGot(t, stays)
				gap := faultTook(t, "who stays", free, at, faultS+faultR)
				if gap > 150*time.Millisecond {
					slow++
				}
				gaps = append(gaps, gap)
				faultUnlock(t, got)
			}
			median, most := faultSpread(gaps)
			t.Logf("free while waited for: median %v, at most %v, %d over 150 ms", median, most, slow)
			if slow > rounds/50 { // a lost signal costs up to a second
				t.Errorf("%d of %d waiters were not woken at once", slow, len(gaps))
			}
		})
	}
}

// faultRounds draws the offsets between a release and a cancellation.
type faultRounds struct{ rng *rand.Rand }

func newFaultRounds(t *testing.T) *faultRounds {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &faultRounds{rand.New(rand.NewPCG(seed, 0))}
}

// unlockAndCancel releases the lease, and cancels 1 ms before to 2 ms after that begins. It returns
// when the lock was free.
func (f *faultRounds) unlockAndCancel(t *testing.T, lease *lock.Lease, cancel func()) time.Time {
	t.Helper()
	offset := time.Duration(f.rng.Int64N(int64(3*time.Millisecond))) - time.Millisecond
	cancelled := make(chan struct{})
	timer := time.AfterFunc(max(offset, 0), func() { cancel(); close(cancelled) })
	defer timer.Stop()
	if offset < 0 {
		faultPause(-offset)
	}
	faultUnlock(t, lease)
	free := time.Now()
	<-cancelled
	return free
}

// Row 12: the call by which a wait connection is told of a new name is lost. The name is served from
// its next look on.
func TestFaultInboxPushLost(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	p := faultProxy(t, s)
	holder := faultMet(t, s.URL(), nil)
	first, second := faultTake(t, holder.Mutex("first")), faultTake(t, holder.Mutex("second"))
	c := faultMet(t, p.URL(), nil)
	waitFirst := faultLock(faultSoon(t), c.Mutex("first"))
	faultBlocked(t, s, 1)
	lost := p.Catch(faultproxy.CutRequest, "LPUSH", "lock-inbox:")
	waitSecond := faultLock(faultSoon(t), c.Mutex("second"))
	faultAwait(t, "the push", lost.Done())
	faultUnlock(t, second)
	released := time.Now()
	got, at := faultGot(t, waitSecond)
	t.Logf("served after %v", faultTook(t, "the new name", released, at, faultS+faultSlack))
	faultUnlock(t, got)
	faultUnlock(t, first)
	got, _ = faultGot(t, waitFirst)
	faultUnlock(t, got)
}

// Row 28: signals that mean nothing. They give nobody the lock and prolong nobody's waiting.
func TestFaultSpuriousSignals(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	holder, c := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
	lease := faultTake(t, holder.Mutex("job"))
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	began := time.Now()
	wait := faultLock(ctx, c.Mutex("job"))
	conn := s.Dial(t)
	for {
		select {
		case r := <-wait:
			faultIs(t, "Lock", r.err, context.DeadlineExceeded, lock.ErrHeld)
			faultTook(t, "Lock", began, r.at, 700*time.Millisecond+faultSlack)
			faultUnlock(t, lease)
			return
		default:
			if _, err := conn.Do("LPUSH", "lock-signal:job", "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
