package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// list returns what List yields, by name. Each lock must come once, and no error.
func list(t testing.TB, c *lock.Client, f lock.Filter) map[string]lock.Owner {
	t.Helper()
	all := map[string]lock.Owner{}
	for o, err := range c.List(soon(t), f) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		if _, again := all[o.Name]; again {
			t.Errorf("%q came twice", o.Name)
		}
		if o.ID != "" {
			t.Errorf("%q came with its id %q", o.Name, o.ID)
		}
		all[o.Name] = o
	}
	return all
}

// listed returns the names of what List yields, sorted.
func listed(t testing.TB, c *lock.Client, f lock.Filter) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(list(t, c, f)))
}

func TestList(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Prefix: "p:", Label: "importer"})
	if all := list(t, c, lock.Filter{}); len(all) != 0 {
		t.Errorf("of an empty database: %+v", all)
	}
	lease := acquire(t, c.Mutex("job"))
	defer unlock(t, lease)
	s.Do(t, "SET", "p:lock:python", "YWJjZGVmZ2hpamtsbW5vcA==", "PX", 60_000)
	s.Do(t, "SET", "p:lock:huge", strings.Repeat("x", 1<<20))
	s.Do(t, "SET", "p:lock:kept", id("importer", time.Now())+"/kept", "PX", 60_000)
	all := list(t, c, lock.Filter{})
	if len(all) != 4 {
		t.Errorf("listed %+v", all)
	}

	own, err := c.Owner(soon(t), "job")
	if err != nil {
		t.Fatal(err)
	}
	got := all["job"]
	if got.TTL < own.TTL || got.TTL > 30*time.Second {
		t.Errorf("TTL %v, later %v", got.TTL, own.TTL)
	}
	own.ID, own.TTL = "", got.TTL
	if !reflect.DeepEqual(all["job"], own) {
		t.Errorf("listed %+v, want %+v", all["job"], own)
	}
	other := all["python"]
	if other.TTL <= 50*time.Second || other.TTL > time.Minute {
		t.Errorf("TTL of another program's lock: %v", other.TTL)
	}
	other.TTL = 0
	if !reflect.DeepEqual(other, lock.Owner{Name: "python"}) {
		t.Errorf("another program's owner: %+v", other)
	}
	if huge := all["huge"]; !reflect.DeepEqual(huge, lock.Owner{Name: "huge", TTL: lock.NoExpiry}) {
		t.Errorf("owner of a huge value: %+v", huge)
	}
}

// OnePIDNamespace alone says of no lock that it is meant.
func TestEmptyFilter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	s.Do(t, "SET", "lock:python", "x")
	f := lock.Filter{OnePIDNamespace: true}
	if names := listed(t, c, f); !slices.Equal(names, []string{"python"}) {
		t.Errorf("listed %q", names)
	}
	if _, err := c.ResetAll(soon(t), f); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("ResetAll: %v", err)
	}
}

func TestListWaiters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := open(t, s, &lock.Options{Label: "holder"})
	a := open(t, s, &lock.Options{Label: "web/eu:blue"})
	b := open(t, s, &lock.Options{Label: "batch"})
	leases := []*lock.Lease{acquire(t, holder.Mutex("x:y/z")), acquire(t, holder.Mutex("two"))}
	ctx, cancel := context.WithCancel(soon(t))
	waits := []<-chan result{
		lockLater(t, ctx, a, "x:y/z"), lockLater(t, ctx, a, "x:y/z"), lockLater(t, ctx, a, "two"),
		lockLater(t, ctx, b, "x:y/z"),
	}
	var all map[string]lock.Owner
	redistest.Until(t, "the waiters are listed", func() bool {
		all = list(t, holder, lock.Filter{})
		n := 0
		for _, o := range all {
			for _, w := range o.Waiters {
				n += w.Count
			}
		}
		return n == len(waits)
	})
	first, second := all["x:y/z"].Waiters, all["two"].Waiters
	if len(first) != 2 || first[0].Label != "batch" || first[0].Count != 1 ||
		first[1].Label != "web/eu:blue" || first[1].Count != 2 ||
		len(first[0].Client) != 26 || len(first[1].Client) != 26 {
		t.Errorf("waiters of the first: %+v", first)
	}
	if len(second) != 1 || second[0].Count != 1 || second[0].Client != first[1].Client {
		t.Errorf("waiters of the second: %+v, of the first %+v", second, first)
	}
	cancel()
	for _, wait := range waits {
		if r := await(t, "the end of a wait", wait); !errors.Is(r.Err, context.Canceled) {
			t.Errorf("Lock: %v", r.Err)
		}
	}
	redistest.Until(t, "nobody waits any more", func() bool {
		all = list(t, holder, lock.Filter{})
		return all["x:y/z"].Waiters == nil && all["two"].Waiters == nil
	})
	for _, lease := range leases {
		unlock(t, lease)
	}
}

// What stands in the registers may be old, or anybody's.
func TestListOddRegisters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Prefix: "p[1]:"})
	for _, name := range []string{"held", "also held", "lonely"} {
		s.Do(t, "SET", "p[1]:lock:"+name, id("holder", time.Now()))
	}
	register := func(key string, fields ...any) {
		s.Do(t, "HSET", append([]any{"p[1]:lock-waiting:" + key}, fields...)...)
	}
	register("b/c/d:9/CLIENT3", "held", 3)
	register("b/c/d:9/CLIENT2", "held", 2, "also held", 1, "free", 7)
	register("a/CLIENT4", "held", "2147483647", "lonely", 0)
	register("z/1", "held", -1)
	register("z/2", "held", "x", "also held", "")
	register("z/3", "held", "1.5")
	register("z/4", "held", " 1")
	register("z/5", "held", "+1", "also held", "99999999999999999999")
	register("z/6", "held", "2147483648")
	register("n/CLIENT5:0", "held", 2) // by connection
	register("n/CLIENT5:17", "held", 4, "also held", 1)
	register("n/CLIENT6:0", "held", 1)
	register("n/CLIENT7:", "held", 1)
	register("n/CLIENT7:x", "held", 1)
	register("n/CLIENT7:1:2", "held", 1)
	register("no slash", "held", 1)
	register("/nobody", "held", 1)
	register("no client/", "held", 1)
	register("bell\a/client", "held", 1)
	register("client/bell\a", "held", 1)
	register(strings.Repeat("x", 513)+"/client", "held", 1)
	s.Do(t, "SET", "p[1]:lock-waiting:a/string", "held")
	s.Do(t, "LPUSH", "p[1]:lock-waiting:a/list", "held")
	s.Do(t, "HSET", "p1:lock-waiting:a/client", "held", 1)
	s.Do(t, "HSET", "lock-waiting:a/client", "held", 1)
	s.Do(t, "HSET", "p[1]:lock-waitings:a/client", "held", 1)

	want := map[string][]lock.WaitInfo{
		"held": {
			{"a", "CLIENT4", 1<<31 - 1},
			{"b/c/d:9", "CLIENT2", 2},
			{"b/c/d:9", "CLIENT3", 3},
			{"n", "CLIENT5", 4},
			{"n", "CLIENT6", 1},
		},
		"also held": {{"b/c/d:9", "CLIENT2", 1}, {"n", "CLIENT5", 1}},
		"lonely":    nil,
	}
	got := map[string][]lock.WaitInfo{}
	for name, o := range list(t, c, lock.Filter{}) {
		got[name] = o.Waiters
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("waiters %+v\nwant %+v", got, want)
	}
}

// fill makes n locks, among twice as many other keys.
func fill(t testing.TB, s *redistest.Server, n int) {
	t.Helper()
	conn := s.Dial(t)
	for i := range n {
		_ = conn.Send("SET", fmt.Sprintf("lock:%d", i), id("many", time.Now()))
		_ = conn.Send("SET", fmt.Sprintf("foreign:%d", i), "x")
		_ = conn.Send("HSET", fmt.Sprintf("lock-waiting:many/%d", i), i, 1)
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
}

func TestListOfManyKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	fill(t, s, 3000)
	all := list(t, c, lock.Filter{})
	if len(all) != 3000 {
		t.Errorf("listed %d locks", len(all))
	}
	for name, o := range all {
		if len(o.Waiters) != 1 || o.Waiters[0] != (lock.WaitInfo{Label: "many", Client: name, Count: 1}) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if n := s.CommandCounts(t)["keys"]; n != 0 {
		t.Errorf("KEYS was used %d times", n)
	}
	again := list(t, c, lock.Filter{Name: "1*", OlderThan: time.Nanosecond})
	if len(again) != 1111 {
		t.Errorf("listed %d locks, want 1111", len(again))
	}
}

// An iterator may be used again, and looks anew.
func TestListAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	locks := c.List(soon(t), lock.Filter{})
	for want := range 3 {
		n := 0
		for _, err := range locks {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("listed %d locks, want %d", n, want)
		}
		s.Do(t, "SET", fmt.Sprint("lock:", want), "x")
	}
}

// A doubling is a connection on which SCAN returns every key twice, as Redis may.
type doubling struct {
	redis.Conn
	sent []string // names of the commands whose replies are to come
}

func (c *doubling) Send(command string, args ...any) error {
	c.sent = append(c.sent, command)
	return c.Conn.Send(command, args...)
}

func (c *doubling) Receive() (any, error) {
	reply, err := c.Conn.Receive()
	command := c.sent[0]
	c.sent = c.sent[1:]
	if parts, ok := reply.([]any); ok && command == "SCAN" {
		keys := parts[1].([]any)
		parts[1] = append(keys, keys...)
	}
	return reply, err
}

func TestListYieldsOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	pool := &redis.Pool{Dial: func() (redis.Conn, error) {
		conn, err := redis.Dial(s.Network(), s.Addr())
		return &doubling{Conn: conn}, err
	}}
	c, err := lock.New(pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fill(t, s, 300)
	all := list(t, c, lock.Filter{}) // fails if one comes again
	if len(all) != 300 {
		t.Errorf("listed %d locks", len(all))
	}
	for name, o := range all {
		if len(o.Waiters) != 1 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
