package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/inmemory"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A new kind of thing is acquired by the engine alone. The tests here are about slots, see slot:
// nothing outside of that file knows them.

// bench is an engine on a Redis in the process, within a bubble.
type bench struct {
	*engine.Engine
	redis *inmemory.Server
	slots slot
	told  chan error // of each loss
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := inmemory.New()
		defer r.Close()
		b := newBench(t, r)
		defer b.Close()
		test(t, b)
	})
}

func newBench(t *testing.T, r *inmemory.Server) *bench {
	t.Helper()
	dialer, err := redisconn.PoolDialer(r.Pool())
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(dialer, store.Options{
		Keys: store.NewKeyspace("", store.DefaultFormat), Label: "test", Client: "client", SignalTTL: time.Second,
	})
	b := &bench{redis: r, slots: slot{store: s, key: "slots:jobs", of: 2}, told: make(chan error, 10)}
	s.AddKind("slots", b.slots)
	b.Engine = engine.New(s, engine.Options{
		Events: engine.Events{Lost: func(l engine.Lost) { b.told <- l.Err }},
		Words: engine.Words{
			Held:   func(string, *store.Held) error { return engine.ErrHeld },
			Lost:   func(_ string, cause error) error { return errors.Join(engine.ErrLost, cause) },
			GaveUp: func(g engine.GaveUp) error { return errors.Join(append(g.Ended, g.Met...)...) },
		},
	})
	return b
}

func (b *bench) want() engine.Want {
	return engine.Want{
		Target: b.slots, Op: "acquire",
		Settings: engine.Settings{TTL: 10 * time.Second, Signal: time.Second, Label: "test"},
	}
}

func (b *bench) take(t *testing.T) *engine.Lease {
	t.Helper()
	l, err := b.TryLock(t.Context(), b.want())
	if err != nil {
		t.Fatalf("no slot: %v", err)
	}
	return l
}

// held returns how many slots are held, whatever their times.
func (b *bench) held(t *testing.T) int {
	t.Helper()
	conn := b.redis.Pool().Get()
	defer conn.Close()
	n, err := redis.Int(conn.Do("ZCARD", b.slots.key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// waitFor waits for a slot, and tells after what time it was got.
func (b *bench) waitFor(t *testing.T) <-chan time.Duration {
	got := make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		defer close(got)
		if _, err := b.Lock(t.Context(), b.want()); err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		got <- time.Since(began)
	}()
	synctest.Wait()
	return got
}

func TestNewKindIsTakenAndRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		first, _ := b.take(t), b.take(t)
		if _, err := b.TryLock(t.Context(), b.want()); !errors.Is(err, engine.ErrHeld) {
			t.Errorf("a third of two: %v", err)
		}
		if err := first.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
		b.take(t)
	})
}

// A release wakes the one who waits, at once.
func TestNewKindIsHandedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		first, _ := b.take(t), b.take(t)
		got := b.waitFor(t)
		time.Sleep(7 * time.Second)
		if err := first.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
		if took := <-got; took > 7*time.Second+10*time.Millisecond {
			t.Errorf("the waiter had it after %v", took)
		}
	})
}

// A slot of a holder that died is free when its time is over, and the one who waits finds it.
func TestNewKindExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		dead := newBench(t, b.redis)
		w := dead.want()
		w.Settings.NoRenewal, w.Settings.TTL = true, 9500*time.Millisecond
		for range 2 {
			if _, err := dead.TryLock(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		b.redis.Down() // the dead one's connections
		b.redis.Up()
		if took := <-b.waitFor(t); took < 9*time.Second || took > 9510*time.Millisecond {
			t.Errorf("the waiter had it after %v", took)
		}
		dead.Close()
	})
}

// Who waits goes on when Redis comes back.
func TestNewKindIsWaitedForWhileRedisIsDown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.take(t)
		w := b.want()
		w.Settings.NoRenewal = true
		if _, err := b.TryLock(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		got := b.waitFor(t)
		time.Sleep(8 * time.Second)
		b.redis.Down()
		time.Sleep(4 * time.Second) // the second slot's time ends meanwhile
		b.redis.Up()
		if took := <-got; took < 12*time.Second || took > 14*time.Second {
			t.Errorf("the waiter had it after %v", took)
		}
	})
}

// An acquire whose reply was lost is repeated under the same id, and takes no second slot.
func TestNewKindIsAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.take(t)
		b.redis.Delay(500 * time.Millisecond)
		go func() {
			time.Sleep(100 * time.Millisecond) // it is executed, and not answered
			b.redis.Down()
			b.redis.Delay(0)
			b.redis.Up()
		}()
		again := b.take(t)
		if n := b.held(t); n != 2 || !again.Valid() {
			t.Errorf("%d slots are held by two leases, the second one: %v", n, again.Err())
		}
		if err := again.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
		b.take(t)
	})
}

func TestNewKindIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		l := b.take(t)
		time.Sleep(time.Minute)
		if !l.Valid() || b.held(t) != 1 {
			t.Errorf("after a minute: %v, %d held", l.Err(), b.held(t))
		}
		if n := b.Stats().Renewals; n < 15 || n > 20 {
			t.Errorf("%d renewals in a minute", n)
		}
		if left, err := l.ExtendBy(t.Context(), time.Second); err != nil || left < time.Second {
			t.Errorf("ExtendBy: %v, %v", left, err)
		}
	})
}

// Locks and slots are renewed together, by scripts of which Redis may know some, or none.
func TestNewKindIsRenewedWithLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		w := b.want()
		w.Target = &engine.Named{Store: b.Store(), Lock: "job"}
		lock, err := b.TryLock(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		slot := b.take(t)
		time.Sleep(time.Minute)
		if !lock.Valid() || !slot.Valid() {
			t.Errorf("after a minute: the lock %v, the slot %v", lock.Err(), slot.Err())
		}
	})
}

// Whoever takes a slot away is told by the next renewal.
func TestNewKindIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		l := b.take(t)
		b.redis.Delete(b.slots.key)
		select {
		case <-l.Done():
		case <-time.After(4 * time.Second):
			t.Fatal("it is not told")
		}
		if err := <-b.told; !errors.As(err, new(*engine.OtherOwner)) || !errors.Is(err, engine.ErrLost) {
			t.Errorf("the loss: %v", err)
		}
		if err := l.Release(); !errors.Is(err, engine.ErrNotHeld) {
			t.Errorf("Release of what was lost: %v", err)
		}
	})
}

// What a call may have taken whose outcome is not known is given back.
func TestNewKindIsCleanedUp(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		if err := b.take(t).Release(); err != nil { // Redis learns the scripts
			t.Fatal(err)
		}
		b.redis.Delay(500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.TryLock(ctx, b.want()); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("a call without a reply: %v", err)
		}
		b.redis.Delay(0)
		time.Sleep(3 * time.Second)
		if n := b.held(t); n != 0 {
			t.Errorf("%d slots are held by nobody", n)
		}
	})
}

// A lease that is detached leaves its slot held, and Close gives back what is left.
func TestNewKindIsDetachedAndClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		kept, left := b.take(t), b.take(t)
		if id, err := kept.Detach(t.Context()); err != nil || id != kept.ID() {
			t.Errorf("Detach: %q, %v", id, err)
		}
		b.Close()
		if n := b.held(t); n != 1 || left.Valid() {
			t.Errorf("%d slots are held after Close", n)
		}
	})
}
