package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// block blocks the lock "job".
func block(t *testing.T, c *lock.Client, d time.Duration) {
	t.Helper()
	if err := c.Block(soon(t), "job", d); err != nil {
		t.Fatalf("Block for %v: %v", d, err)
	}
}

// endsWithSignal waits for the signal of a block's end, which must not come before the end. It takes it
// away, and returns when it was seen.
func endsWithSignal(t *testing.T, s *redistest.Server) time.Time {
	t.Helper()
	redistest.Until(t, "the end is signalled", func() bool { return pttl(t, s, "lock-signal:job") > 0 })
	at := time.Now()
	if left := pttl(t, s, "lock:job"); left != -2 {
		t.Errorf("signalled, and the lock has %d ms left", left)
	}
	if n := s.Do(t, "LLEN", "lock-signal:job"); n != int64(1) {
		t.Errorf("%v signals", n)
	}
	s.Do(t, "DEL", "lock-signal:job")
	return at
}

// The end of a block is signalled once, as that of a lease is, while its client lives.
func TestBlockSignalsAtItsEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	began := time.Now()
	block(t, c, 400*time.Millisecond)
	t.Logf("signalled %v after the end", endsWithSignal(t, s).Sub(began.Add(400*time.Millisecond)))

	block(t, c, 400*time.Millisecond) // prolonged: there is no signal at the end that it had before
	block(t, c, 1200*time.Millisecond)
	at := time.Now()
	if took := endsWithSignal(t, s).Sub(at); took < time.Second {
		t.Errorf("signalled after %v", took)
	}
	block(t, c, time.Minute) // shortened
	block(t, c, 300*time.Millisecond)
	endsWithSignal(t, s)

	block(t, c, 300*time.Millisecond) // a client that is closed tells nobody
	_ = c.Close()
	redistest.Until(t, "it has ended", func() bool { return pttl(t, s, "lock:job") == -2 })
	if keys := s.Keys(t, "lock-signal:*"); len(keys) != 0 {
		t.Errorf("a closed client signalled: %q", keys)
	}
}

// Redis counts by its own clock, and over a week that differs. The signal waits for the key's end.
func TestBlockSignalsByTheServersClock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	block(t, open(t, s, nil), 200*time.Millisecond)
	s.Do(t, "PEXPIRE", "lock:job", 900)
	endsWithSignal(t, s)
}

// A Redis that is away when a block ends gets its signal later.
func TestBlockSignalsAfterTrouble(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	block(t, c, 300*time.Millisecond)
	p.Refuse(true)
	p.Reset("")
	redistest.Until(t, "it has ended", func() bool { return pttl(t, s, "lock:job") == -2 })
	redistest.Until(t, "it was tried", func() bool { return p.Open("") == 0 })
	p.Refuse(false)
	endsWithSignal(t, s)
}

// Only the client that blocks changes it, whatever else is the same.
func TestBlockOfAnother(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := &lock.Options{Label: "me"}
	first, second := open(t, s, o), open(t, s, o)
	block(t, first, time.Minute)
	before := value(t, s, "lock:job")
	locks.Is(t, "Block by another", second.Block(soon(t), "job", time.Hour), lock.ErrHeld)
	if value(t, s, "lock:job") != before || pttl(t, s, "lock:job") > 60_000 {
		t.Error("it was changed")
	}
	// What is blocked by another when it has ended is not the first one's any more.
	if _, _, err := first.Reset(soon(t), "job"); err != nil {
		t.Fatal(err)
	}
	block(t, second, time.Minute)
	locks.Is(t, "Block by the first", first.Block(soon(t), "job", time.Hour), lock.ErrHeld)
	// Nor is a lock that it holds, or has released with a minimum.
	lease := acquire(t, first.MutexWith("mine", &lock.MutexOptions{HoldAtLeast: time.Minute}))
	locks.Is(t, "Block of what it holds", first.Block(soon(t), "mine", time.Second), lock.ErrHeld)
	unlock(t, lease)
	locks.Is(t, "Block of a minimum", first.Block(soon(t), "mine", time.Second), lock.ErrHeld)
}

// Calls of one client about one lock at the same time change it one after the other: none is told that
// another client blocks it.
func TestBlockFromManyGoroutines(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if err := c.Block(soon(t), "job", time.Minute); err != nil {
					t.Errorf("Block: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// A Block that waits for another one ends with its context.
func TestBlockBehindAnother(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	held := p.Catch(faultproxy.HoldReply, scripts.Acquire.SHA1)
	first := make(chan error, 1)
	go func() { first <- c.Block(soon(t), "job", time.Minute) }()
	await(t, "the first", held.Done())
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := c.Block(ctx, "job", time.Hour)
	locks.Is(t, "the second", err, context.DeadlineExceeded)
	if errors.Is(err, lock.ErrUnknown) {
		t.Errorf("the second was not sent, and says %v", err)
	}
	held.Release()
	if err := await(t, "the first", first); err != nil {
		t.Errorf("the first: %v", err)
	}
	block(t, c, time.Hour)
}

// A change whose outcome is not known leaves the lock blocked, and can be asked for again: whether Redis
// did it or not.
func TestBlockAgainUnknown(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]faultproxy.Fate{
		"done": faultproxy.HoldReply, "not done": faultproxy.HoldRequest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			c := locks.Met(t, p.URL(), nil)
			block(t, c, time.Minute)
			ctx, cancel := context.WithCancel(context.Background())
			was, err := redis.String(s.Do(t, "GET", "lock:job"), nil)
			if err != nil {
				t.Fatal(err)
			}
			held := p.Catch(fate, scripts.Acquire.SHA1, was) // the id that must be there
			got := make(chan error, 1)
			go func() { got <- c.Block(ctx, "job", time.Hour) }()
			await(t, "the change", held.Done())
			cancel()
			locks.Is(t, "Block", await(t, "Block", got), lock.ErrUnknown)
			p.Heal()
			if pttl(t, s, "lock:job") <= 0 {
				t.Error("it is not blocked any more")
			}
			block(t, c, 2*time.Minute)
			if left := pttl(t, s, "lock:job"); left < 100_000 || left > 120_000 {
				t.Errorf("it has %d ms left", left)
			}
		})
	}
}

// A free lock gets a signal by Reset, one, as python-redis-lock's reset gives one.
func TestResetOfAFreeLock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	for range 2 {
		if _, held, err := c.Reset(soon(t), "job"); err != nil || held {
			t.Errorf("Reset: %v, %v", held, err)
		}
	}
	if n := s.Do(t, "LLEN", "lock-signal:job"); n != int64(1) {
		t.Errorf("%v signals", n)
	}
	if left := pttl(t, s, "lock-signal:job"); left <= 0 || left > 1000 {
		t.Errorf("the signal has %d ms left", left)
	}
}
