package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plainWords say no more than the cause.
var plainWords = Words{
	Held:   func(string, *store.Held) error { return ErrHeld },
	Lost:   func(_ string, cause error) error { return cause },
	GaveUp: func(g GaveUp) error { return errors.Join(append(g.Ended, g.Met...)...) },
}

// plain are the settings of the tests' leases.
var plain = Settings{TTL: 30 * time.Second, Signal: time.Second, Label: "test"}

// open returns an engine on a Redis, with plain words.
func open(t *testing.T, pool *redis.Pool, o Options) *Engine {
	t.Helper()
	dialer, err := redisconn.PoolDialer(pool)
	if err != nil {
		t.Fatal(err)
	}
	o.Words = plainWords
	return New(store.New(dialer, store.Options{
		Keys: store.NewKeyspace("", store.DefaultFormat), Label: "test", Client: "client", SignalTTL: time.Second,
	}), o)
}

// want is the lock of a name.
func want(e *Engine, name string) Want {
	return Want{Target: &Named{Store: e.store, Lock: name}, Settings: plain, Op: "acquire"}
}
