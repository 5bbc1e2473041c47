package lock

import (
	"slices"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/signal"
)

// A pool's signal that was read and not used is given back with the member that it named, unless that one
// is held again. One that names no member is given back in any case.
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
			s := redistest.Start(t)
			client, err := Open(s.URL(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if c.holder != "" {
				s.Do(t, "SET", "lock:{p}/a", c.holder)
			}
			client.store.pools.signalled("{p}/", c.signal)
			if err := (waitStore{client.store}).GiveBack(signal.Name{Name: "{p}/"}); err != nil {
				t.Fatal(err)
			}
			got, err := redis.Strings(s.Do(t, "LRANGE", "lock-signal:{p}/", 0, -1), nil)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("the signals are %q, %v; want %q", got, err, c.want)
			}
			if free := client.store.pools.take("{p}/"); free != "" {
				t.Errorf("it remembers that %s is free", free)
			}
		})
	}
}

// What is known of a pool is forgotten with the last who waits for it.
func TestPoolsAreForgotten(t *testing.T) {
	t.Parallel()
	var p pools
	p.know("{p}/", []string{"a"})
	p.join("{p}/", "key")
	p.join("{p}/", "key")
	p.know("{p}/", []string{"a", "b"})
	p.leave("{p}/")
	if got := p.of("{p}/"); got.key != "key" || len(got.members) != 2 {
		t.Errorf("one waits, and it knows %v", got)
	}
	p.leave("{p}/")
	if got := p.of("{p}/"); got.key != "" || len(p.known) != 0 {
		t.Errorf("nobody waits, and it knows %v", got)
	}
}
