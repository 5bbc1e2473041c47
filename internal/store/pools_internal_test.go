package store

import (
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/signal"
)

// A pool's signal that was read and not used is given back with the member that it named, unless
// that one is held again. One that names no member is given back in any case.
func TestGiveBackOfAPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, signal, holder string
		want                 []string
	}{
		{name: "free", signal: "a", want: []string{"a"}},
		{name: "held again", signal: "a", holder: "somebody"},
		{name: "names no member", signal: "1", holder: "somebody", want: []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			dialer, err := redisconn.ParseURL(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			s := New(dialer, Options{Keys: fuzzSpace(""), Client: "client", SignalTTL: time.Second})
			defer s.Close(time.Second)
			if c.holder != "" {
				server.Do(t, "SET", "lock:{p}/a", c.holder)
			}
			n := signal.Name{Kind: PoolKind, Name: "{p}/"}
			s.heard(n, c.signal)
			if err := s.Wait().GiveBack(n); err != nil {
				t.Fatal(err)
			}
			got, err := redis.Strings(server.Do(t, "LRANGE", "lock-signal:{p}/", 0, -1), nil)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("the signals are %q, %v; want %q", got, err, c.want)
			}
			if free := s.Pools().Freed("{p}/"); free != "" {
				t.Errorf("it remembers that %s is free", free)
			}
		})
	}
}

// What is known of a pool is forgotten with the last who waits for it.
func TestPoolsAreForgotten(t *testing.T) {
	t.Parallel()
	p := newPools(nil)
	p.Know("{p}/", []string{"a"})
	p.Join("{p}/")
	p.Join("{p}/")
	p.Know("{p}/", []string{"a", "b"})
	p.Leave("{p}/")
	if got := p.membersOf("{p}/"); len(got) != 2 {
		t.Errorf("one waits, and it knows %q", got)
	}
	p.Leave("{p}/")
	if got := p.membersOf("{p}/"); got != nil || len(p.known) != 0 {
		t.Errorf("nobody waits, and it knows %q", got)
	}
}
