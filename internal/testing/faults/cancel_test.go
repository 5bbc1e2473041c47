package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 11: a waiter leaves about when the signal comes. The signal is not lost: another program that
// waits for nothing but the signal hears of it, always.
func TestFaultCancelAroundSignal(t *testing.T) {
	t.Parallel()
	rounds := locks.Size(1000, 10_000)
	s := locks.Server(t)
	f := newCancelRounds(t)
	p := locks.Proxy(t, s)
	holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, p.URL(), nil)
	other := s.Dial(t)
	got := 0
	var left []time.Duration
	for round := range rounds {
		name := fmt.Sprint("job-", round) // none of them has an old signal
		lease := locks.Acquire(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := blocksOn(p, name)
		wait := locks.Later(ctx, waiter.Mutex(name))
		locks.Await(t, "the waiter blocks", blocks.Done())
		heard := hears(t, s, other, name)
		_, cancelled := f.unlockAndCancel(t, lease, cancel)
		if r := locks.Await(t, "the waiter", wait); r.Err == nil {
			got++
			locks.Unlock(t, r.Lease)
		} else if !errors.Is(r.Err, context.Canceled) {
			t.Fatalf("the waiter: %v", r.Err)
		} else {
			left = append(left, locks.Took(t, "to leave", cancelled, r.At, 50*time.Millisecond+locks.Slack))
		}
		if err := locks.Await(t, "the signal", heard); err != nil {
			t.Fatalf("round %d: the signal was lost: %v", round, err)
		}
	}
	median, most := locks.Spread(left)
	t.Logf("%d waiters of %d got the lock, the others left: median %v, at most %v", got, rounds, median, most)
}

// hears has another program wait for the signal of this name, and nothing else, behind a waiter that
// blocks. It returns what becomes of that.
func hears(t *testing.T, s *redistest.Server, other redis.Conn, name string) <-chan error {
	t.Helper()
	heard := make(chan error, 1)
	go func() {
		_, err := redis.Strings(other.Do("BLPOP", "lock-signal:"+name, 9))
		heard <- err
	}()
	redistest.Until(t, "both block", func() bool { return s.BlockedNow(t) == 2 })
	return heard
}

// Row 11: a waiter leaves when it has heard the signal and its acquire could not be sent yet. The
// signal is given back.
func TestFaultCancelBeforeAcquire(t *testing.T) {
	t.Parallel()
	const rounds = 10
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, p.URL(), nil)
	other := s.Dial(t)
	for round := range rounds {
		name := fmt.Sprint("job-", round)
		lease := locks.Acquire(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := blocksOn(p, name)
		wait := locks.Later(ctx, waiter.Mutex(name))
		locks.Await(t, "the waiter blocks", blocks.Done())
		heard := hears(t, s, other, name)

		busy := p.Catch(faultproxy.HoldReply, wire.Owner) // calls wait for this one
		asked := make(chan error, 1)
		go func() {
			_, err := waiter.Owner(locks.Soon(t), "nothing")
			asked <- err
		}()
		locks.Await(t, "the call that takes long", busy.Done())
		before := p.Bytes(faultproxy.ToClient)
		locks.Unlock(t, lease)
		redistest.Until(t, "the signal has come", func() bool { return p.Bytes(faultproxy.ToClient) > before })
		locks.Pause(time.Millisecond) // now its acquire stands in line
		cancel()
		r := locks.Await(t, "the waiter", wait)
		locks.Is(t, "Lock", r.Err, context.Canceled)
		busy.Release()
		locks.Is(t, "Owner", locks.Await(t, "the call that takes long", asked), lock.ErrNotHeld)
		if err := locks.Await(t, "the signal", heard); err != nil {
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
			const rounds, slowMost = 250, 250 / 20
			s := locks.Server(t)
			f := newCancelRounds(t)
			p := locks.Proxy(t, s)
			holder, waiter := locks.Met(t, s.URL(), nil), locks.Met(t, p.URL(), nil)
			next := waiter
			if !same {
				next = locks.Met(t, p.URL(), nil)
			}
			var gaps []time.Duration
			slow := 0
			for round := 0; round < rounds && slow <= slowMost; round++ {
				name := fmt.Sprint("job-", round)
				lease := locks.Acquire(t, holder.Mutex(name))
				ctx, cancel := context.WithCancel(context.Background())
				blocks := blocksOn(p, name)
				leaves := locks.Later(ctx, waiter.Mutex(name))
				var stays <-chan locks.Result
				locks.Await(t, "it blocks", blocks.Done())
				if same { // there it stands in line, which makes no noise
					stays = locks.Later(locks.Soon(t), next.Mutex(name))
				} else {
					blocks = blocksOn(p, name)
					stays = locks.Later(locks.Soon(t), next.Mutex(name))
					locks.Await(t, "both block", blocks.Done())
				}
				free, _ := f.unlockAndCancel(t, lease, cancel)
				if r := locks.Await(t, "who leaves", leaves); r.Err == nil {
					free = time.Now()
					locks.Unlock(t, r.Lease)
				}
				got, at := locks.Got(t, stays)
				gap := locks.Took(t, "who stays", free, at, locks.S+locks.R)
				if gap > 150*time.Millisecond {
					slow++
				}
				gaps = append(gaps, gap)
				locks.Unlock(t, got)
			}
			median, most := locks.Spread(gaps)
			t.Logf("free while waited for: median %v, at most %v, %d over 150 ms", median, most, slow)
			if slow > slowMost { // a lost signal costs up to a second, a busy machine some hundred milliseconds
				t.Errorf("%d of %d waiters were not woken at once", slow, len(gaps))
			}
		})
	}
}

// cancelRounds draws the offsets between a release and a cancellation.
type cancelRounds struct{ rng *rand.Rand }

func newCancelRounds(t *testing.T) *cancelRounds {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &cancelRounds{rand.New(rand.NewPCG(seed, 0))}
}

// unlockAndCancel releases the lease, and cancels 1 ms before to 2 ms after that begins. It returns
// when the lock was free, and when it cancelled.
func (f *cancelRounds) unlockAndCancel(t *testing.T, lease *lock.Lease, cancel func()) (
	free, cancelled time.Time,
) {
	t.Helper()
	offset := time.Duration(f.rng.Int64N(int64(3*time.Millisecond))) - time.Millisecond
	done := make(chan time.Time, 1)
	timer := time.AfterFunc(max(offset, 0), func() {
		now := time.Now()
		cancel()
		done <- now
	})
	defer timer.Stop()
	if offset < 0 {
		locks.Pause(-offset)
	}
	locks.Unlock(t, lease)
	return time.Now(), <-done
}
