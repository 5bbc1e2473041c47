package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// plain are options that say nothing in particular.
var plain = store.Options{
	Keys: store.NewKeyspace("", store.DefaultFormat), Label: "host:1", Client: "client", SignalTTL: time.Second,
}

// open returns a plain store. Who calls it closes the store.
func open(dial func(context.Context) (redis.Conn, error)) *store.Store {
	return store.New(redisconn.Dialer{Dial: dial}, plain)
}

// hear returns a store whose Redis gives an odd reply, and that is closed with the test.
func hear(t *testing.T, odd string, reply any) *store.Store {
	t.Helper()
	s := open(parrot.Dial(odd, reply))
	t.Cleanup(func() { s.Close(time.Second) })
	return s
}
