package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/inmemory"
)

// A call that is refused gets the plain error: nothing of it was begun that would have to be
// explained.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	s := inmemory.New()
	defer s.Close()
	e := open(t, s.Pool(), Options{})
	never := func() error { t.Error("it was done"); return nil }
	var noContext context.Context
	if err := e.Call(noContext, "look at", "job", never); err == nil || err.Error() != e.Enter(noContext).Error() {
		t.Errorf("Call without a context: %v", err)
	}
	e.Close()
	ctx := t.Context()
	for what, err := range map[string]error{
		"Call": e.Call(ctx, "look at", "job", never), "Step": e.Step(ctx, never),
		"Block": e.Block(ctx, "job", "test", time.Hour),
	} {
		if err != ErrClosed {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

// A Block that waits for its turn when Close begins sends nothing any more.
func TestCloseRefusesBlockBeforeItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inmemory.New()
		defer s.Close()
		e := open(t, s.Pool(), Options{})
		s.Delay(500 * time.Millisecond)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- e.Block(context.Background(), "job", "test", time.Hour) }()
		synctest.Wait()
		go func() { second <- e.Block(context.Background(), "job", "test", time.Minute) }()
		synctest.Wait()
		e.Close()
		if err := <-first; err != nil {
			t.Errorf("the one under way: %v", err)
		}
		if err := <-second; err != ErrClosed {
			t.Errorf("the one before its turn: %v", err)
		}
		s.Delay(0)
		if left, err := redis.Int(inspect(t, s).Do("PTTL", "lock:job")); left < 3_500_000 {
			t.Errorf("it changed the first one's time to %d ms, %v", left, err)
		}
	})
}
