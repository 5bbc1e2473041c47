package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 11: a waiter leaves about when the signal comes. The signal is not lost: another program that
// waits for nothing but the signal hears of it, always.
func TestFaultCancelAroundSignal(t *testing.T) {
	t.Parallel()
	rounds := faultSize(1000, 10_000)
	s := faultServer(t)
	f := newFaultRounds(t)
	p := faultProxy(t, s)
	holder, waiter := faultMet(t, s.URL(), nil), faultMet(t, p.URL(), nil)
	other, admin := s.Dial(t), s.Dial(t)
	got := 0
	var left []time.Duration
	for round := range rounds {
		name := fmt.Sprint("job-", round) // none of them has an old signal
		lease := acquire(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := faultBlocks(p, name)
		wait := faultLock(ctx, waiter.Mutex(name))
		await(t, "the waiter blocks", blocks.Done())
		heard := faultHears(t, other, admin, name)
		_, cancelled := f.unlockAndCancel(t, lease, cancel)
		if r := await(t, "the waiter", wait); r.err == nil {
			got++
			unlock(t, r.lease)
		} else if !errors.Is(r.err, context.Canceled) {
			t.Fatalf("the waiter: %v", r.err)
		} else {
			left = append(left, faultTook(t, "to leave", cancelled, r.at, 50*time.Millisecond+faultSlack))
		}
		if err := await(t, "the signal", heard); err != nil {
			t.Fatalf("round %d: the signal was lost: %v", round, err)
		}
	}
	median, most := faultSpread(left)
	t.Logf("%d waiters of %d got the lock, the others left: median %v, at most %v", got, rounds, median, most)
}

// faultHears has another program wait for the signal of this name, and nothing else, behind a waiter that
// blocks. It returns what becomes of that.
func faultHears(t *testing.T, other, admin redis.Conn, name string) <-chan error {
	t.Helper()
	heard := make(chan error, 1)
	go func() {
		_, err := redis.Strings(other.Do("BLPOP", "lock-signal:"+name, 9))
		heard <- err
	}()
	redistest.Until(t, "both block", func() bool { return faultBlockedNow(t, admin) == 2 })
	return heard
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
		lease := acquire(t, holder.Mutex(name))
		ctx, cancel := context.WithCancel(context.Background())
		blocks := faultBlocks(p, name)
		wait := faultLock(ctx, waiter.Mutex(name))
		await(t, "the waiter blocks", blocks.Done())
		heard := faultHears(t, other, admin, name)

		busy := p.Catch(faultproxy.HoldReply, scripts.Owner.SHA1) // calls wait for this one
		asked := make(chan error, 1)
		go func() {
			_, err := waiter.Owner(soon(t), "nothing")
			asked <- err
		}()
		await(t, "the call that takes long", busy.Done())
		before := p.Bytes(faultproxy.ToClient)
		unlock(t, lease)
		redistest.Until(t, "the signal has come", func() bool { return p.Bytes(faultproxy.ToClient) > before })
		faultPause(time.Millisecond) // now its acquire stands in line
		cancel()
		r := await(t, "the waiter", wait)
		faultIs(t, "Lock", r.err, context.Canceled)
		busy.Release()
		faultIs(t, "Owner", await(t, "the call that takes long", asked), lock.ErrNotHeld)
		if err := await(t, "the signal", heard); err != nil {
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
			for round := 0; round < rounds && slow <= slowMost; round++ {
				name := fmt.Sprint("job-", round)
				lease := acquire(t, holder.Mutex(name))
				ctx, cancel := context.WithCancel(context.Background())
				blocks := faultBlocks(p, name)
				leaves := faultLock(ctx, waiter.Mutex(name))
				var stays <-chan faultResult
				await(t, "it blocks", blocks.Done())
				if same { // there it stands in line, which makes no noise
					stays = faultLock(soon(t), next.Mutex(name))
				} else {
					blocks = faultBlocks(p, name)
					stays = faultLock(soon(t), next.Mutex(name))
					await(t, "both block", blocks.Done())
				}
				free, _ := f.unlockAndCancel(t, lease, cancel)
				if r := await(t, "who leaves", leaves); r.err == nil {
					free = time.Now()
					unlock(t, r.lease)
				}
				got, at := faultGot(t, stays)
				gap := faultTook(t, "who stays", free, at, faultS+faultR)
				if gap > 150*time.Millisecond {
					slow++
				}
				gaps = append(gaps, gap)
				unlock(t, got)
			}
			median, most := faultSpread(gaps)
			t.Logf("free while waited for: median %v, at most %v, %d over 150 ms", median, most, slow)
			if slow > slowMost { // a lost signal costs up to a second, a busy machine some hundred milliseconds
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
// when the lock was free, and when it cancelled.
func (f *faultRounds) unlockAndCancel(t *testing.T, lease *lock.Lease, cancel func()) (
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
		faultPause(-offset)
	}
	unlock(t, lease)
	return time.Now(), <-done
}
